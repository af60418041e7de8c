/**
 * What an object key may look like. One rule for every store, so that no store rejects a key that another accepts,
 * and so that no key can leave a directory or a prefix. Rule: docstring of `ObjectStore`.
 */

const SEGMENT = /^[A-Za-z0-9._-]+$/;
const PREFIX = /^[A-Za-z0-9._/-]*$/;
const MAX_LENGTH = 512;

/** Whether a string is a key that the stores accept. */
export function isObjectKey(text: string): boolean {
  return text.length <= MAX_LENGTH && text.split('/').every((segment) => SEGMENT.test(segment) && !isDots(segment));
}

/** @throws {TypeError} the string is not a key. The message does not repeat it, because it may come from outside. */
export function assertObjectKey(key: string): void {
  if (!isObjectKey(key)) throw new TypeError('not an object key: segments of [A-Za-z0-9._-] joined by /');
}

/**
 * A prefix is the beginning of a key, cut anywhere; the empty one begins every key.
 *
 * @throws {TypeError} no key begins like that.
 */
export function assertKeyPrefix(prefix: string): void {
  const whole = prefix.split('/').slice(0, -1);
  const isPrefix = prefix.length <= MAX_LENGTH && PREFIX.test(prefix) && !whole.some((s) => s === '' || isDots(s));
  if (!isPrefix) throw new TypeError('not the beginning of an object key');
}

function isDots(segment: string): boolean {
  return segment === '.' || segment === '..';
}
