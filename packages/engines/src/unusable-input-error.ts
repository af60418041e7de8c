/**
 * How code that works for an embedded model reports an unusable input. Separate from the provider, because it is
 * thrown in the engines and handled in the provider.
 */
import type { InputFault } from '@darkroom/api/facts/input-fault';

/**
 * The input cannot be used: a file cannot be decoded, or is too large once decoded; a text contains nothing to render.
 */
export class UnusableInputError extends Error {
  override readonly name = 'UnusableInputError';
  readonly fault: InputFault;

  constructor(message: string, fault: InputFault) {
    super(message);
    this.fault = fault;
  }
}
