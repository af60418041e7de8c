/**
 * The opaque `cursor` of lists: the position of a row in the order of the list, newest first (contract §3). It holds
 * a time and an id that its owner has seen; whose rows are listed is never taken from it.
 */
import { UNKNOWN_CURSOR } from '../../domain/darkroom-error.ts';
import { invalidRequest } from './errors.ts';
import type { RequestError } from './errors.ts';

/** The row after which a page begins. */
export interface CursorPosition {
  /** Microseconds since 1970: PostgreSQL's precision. */
  readonly createdMicros: bigint;
  readonly id: string;
}

/** Sixteen digits reach the year 2286, which `Date` and PostgreSQL both support. */
const POSITION = /^(\d{1,16}) ([\w-]{1,64})$/;

export function encodeCursor({ createdMicros, id }: CursorPosition): string {
  return Buffer.from(`${createdMicros} ${id}`, 'latin1').toString('base64url');
}

/** 400: no list returned this cursor. */
export function unknownCursor(): RequestError {
  return invalidRequest(`invalid request: cursor: ${UNKNOWN_CURSOR}`);
}

/** @throws {RequestError} 400: no list returned this. */
export function decodeCursor(text: string): CursorPosition {
  const [, micros, id] = POSITION.exec(Buffer.from(text, 'base64url').toString('latin1')) ?? [];
  if (micros === undefined || id === undefined || encodeCursor({ createdMicros: BigInt(micros), id }) !== text) {
    throw unknownCursor();
  }
  return { createdMicros: BigInt(micros), id };
}
