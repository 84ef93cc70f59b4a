//! Preloaded into WebKitGTK's MiniBrowser. Under automation it stores in memory only, so that nothing would outlive a
//! killed browser; with this its storage is a folder like any other browser's.

use std::ffi::{CStr, CString, c_char, c_void};
use std::os::unix::ffi::OsStringExt;

type New = unsafe extern "C" fn(*const c_char, ...) -> *mut c_void;

/// Names that folder.
const FOLDER: &str = "MINIBROWSER_STORAGE";

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, symbol: *const c_char) -> *mut c_void;
}

/// In the place of WebKitGTK's function of that name, which MiniBrowser calls when it is automated.
#[unsafe(no_mangle)]
pub extern "C" fn webkit_website_data_manager_new_ephemeral() -> *mut c_void {
    let folder = std::env::var_os(FOLDER).and_then(|folder| CString::new(folder.into_vec()).ok());
    // Found when it is called: this is loaded into programs without WebKitGTK, too.
    let new = symbol(c"webkit_website_data_manager_new");
    let (Some(folder), Some(new)) = (folder, new) else { std::process::abort() };
    let (data, cache) = (c"base-data-directory", c"base-cache-directory");
    // SAFETY: WebKitGTK 2.10 and later declare it so: pairs of a property and its value, ended by null.
    unsafe { new(data.as_ptr(), folder.as_ptr(), cache.as_ptr(), folder.as_ptr(), std::ptr::null::<c_char>()) }
}

fn symbol(name: &CStr) -> Option<New> {
    // SAFETY: null is RTLD_DEFAULT, and the type is that of the one function that is asked for.
    unsafe { std::mem::transmute::<*mut c_void, Option<New>>(dlsym(std::ptr::null_mut(), name.as_ptr())) }
}
