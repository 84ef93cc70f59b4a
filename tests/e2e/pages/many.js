/**
 * Makes so many decisions at that time by the wall clock: the same ones, wherever this is called with the same arguments.
 * `submit` resolves with what was made of one: `{ intent, created }`.
 */
export async function submitMany(submit, submission, count, at) {
  await new Promise((done) => setTimeout(done, at - Date.now()));
  const all = Array.from({ length: count }, (_, n) => submit({ ...submission, reference: `order-${n}` }));
  return (await Promise.all(all)).map(({ intent, created }) => [intent.id, created]);
}
