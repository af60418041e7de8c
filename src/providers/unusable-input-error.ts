/**
 * What whoever works for an embedded model says of a file that an input brought. Apart from the provider, because it is
 * thrown where the engines are and understood where the provider is.
 */

/** A file of the input cannot be used: it cannot be decoded, or is too large when it is. */
export class UnusableInputError extends Error {
  override readonly name = 'UnusableInputError';
}
