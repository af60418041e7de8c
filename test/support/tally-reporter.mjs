/**
 * A test reporter that writes how many tests ran. Node counts a file without a test as a passing test; here it counts
 * nothing.
 */
export default async function* tally(source) {
  let tests = 0;
  for await (const { type, data } of source) {
    const isFile = data?.nesting === 0 && data.name === data.file;
    const isSuite = data?.details?.type === 'suite';
    if ((type === 'test:pass' || type === 'test:fail') && !isFile && !isSuite && data.skip === undefined) tests += 1;
  }
  yield JSON.stringify({ tests });
}
