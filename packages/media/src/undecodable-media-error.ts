/** The error for an untrusted file that cannot be read. */

import { inputFault } from '@darkroom/api/facts/input-fault';
import type { FaultKind, InputFault } from '@darkroom/api/facts/input-fault';

/**
 * A file is not an image, audio or video that can be decoded within bounds. The message says why, and names no path.
 */
export class UndecodableMediaError extends Error {
  override readonly name = 'UndecodableMediaError';
  readonly fault: InputFault;

  /** @param options.kind default: `undecodable`. @param options.field its position in the input, if known. */
  constructor(message: string, options: { kind?: FaultKind; field?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.fault = inputFault(options.kind ?? 'undecodable', options.field);
  }

  /** The same for a file whose position in the input is known; the message then begins with it. */
  at(field: string): UndecodableMediaError {
    return new UndecodableMediaError(`${field}: ${this.message}`, { kind: this.fault.kind, field, cause: this });
  }
}
