/**
 * What whoever works for an embedded model says of a file that an input brought. Apart from the provider, because it is
 * thrown where the engines are and understood where the provider is.
 */
import type { InputFault } from '../domain/input-fault.ts';

/** Nothing can be made of the input: a file cannot be decoded, or is too large when it is; a text has nothing to say. */
export class UnusableInputError extends Error {
  override readonly name = 'UnusableInputError';
  readonly fault: InputFault;

  constructor(message: string, fault: InputFault) {
    super(message);
    this.fault = fault;
  }
}
