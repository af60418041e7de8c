/**
 * Children of an instrument, bound to their labels on first use: looking up and validating labels is most of the cost
 * of an observation.
 */

/** @param make binds the child of a key. @returns the same child for the same key. */
export function childrenOf<Key, Child>(make: (key: Key) => Child): (key: Key) => Child {
  const children = new Map<Key, Child>();
  return (key) => {
    let child = children.get(key);
    if (child === undefined) {
      child = make(key);
      children.set(key, child);
    }
    return child;
  };
}
