/**
 * How a byte range meets an object's size, the same in every store: the end is cut to the object, and a range that
 * begins beyond it holds nothing.
 */
import type { ByteRange } from '../stores/object-store.ts';

/** @throws {RangeError} not whole numbers in order. */
export function assertByteRange(range: ByteRange): void {
  const isOrdered = Number.isSafeInteger(range.start) && Number.isSafeInteger(range.end) && range.start <= range.end;
  if (!isOrdered || range.start < 0) throw new RangeError(`not a byte range: ${range.start}-${range.end}`);
}

/** What a store throws for a range that begins at or after the object's end. */
export function beyondTheEnd(range: ByteRange): RangeError {
  return new RangeError(`the object ends before byte ${range.start}`);
}
