//! Values that many hold at once.

use core::fmt;
use core::ops::{Deref, DerefMut};
use std::rc::Rc;

use super::json::{FromJson, Reader, ToJson, Value, Writer};

/// A value held by many within one realm. Who changes it changes a copy of their own: nobody else sees that.
#[derive(PartialEq, Eq)]
pub struct Shared<T>(Rc<T>);

impl<T> Shared<T> {
    pub fn new(value: T) -> Self {
        Self(Rc::new(value))
    }
}

impl<T: Default> Default for Shared<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Rc::make_mut(&mut self.0)
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: ToJson> ToJson for Shared<T> {
    fn write(&self, out: &mut Writer) {
        self.0.write(out);
    }
}

impl<T: FromJson> FromJson for Shared<T> {
    fn read(value: Option<Value>, reader: &mut Reader) -> Self {
        Self::new(T::read(value, reader))
    }
}
