/** A part of a type, at every depth; functions are whole. */
export type Part<T> = T extends (...args: never[]) => unknown
  ? T
  : T extends object
    ? { readonly [Name in keyof T]?: Part<T[Name]> }
    : T;

/** A test double that has only the members that are used. Those are checked against the type. */
export function stub<T extends object>(members: Part<T>): T {
  return members as T;
}
