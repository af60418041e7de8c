/**
 * What the contract suite of object stores needs from a store in addition to its interface: shorthands, and checks
 * for leftovers.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { ObjectNotFoundError, ObjectTooLargeError } from '../../src/objects/stores/object-store.ts';
import type { ByteRange, ObjectStore } from '../../src/objects/stores/object-store.ts';

/** A store to test, empty, and a way to see its unfinished writes: partial files, open uploads. */
export interface OpenedStore {
  readonly store: ObjectStore;
  unfinished(): Promise<number>;
  close(): Promise<void>;
}

export const PNG = { mimeType: 'image/png' };
export const MIB = 1024 * 1024;

export async function readAll(store: ObjectStore, key: string, range?: ByteRange): Promise<Buffer> {
  return await collect(await store.read(key, range));
}

export async function keysBelow(store: ObjectStore, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const found of store.list(prefix)) keys.push(found.key);
  return keys.toSorted();
}

export async function assertNothingAt(opened: OpenedStore, key: string): Promise<void> {
  await assert.rejects(opened.store.head(key), isNotFound(key));
  assert.equal(await opened.unfinished(), 0);
}

export function* slices(bytes: Buffer, length: number): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += length) yield bytes.subarray(start, start + length);
}

export async function collect(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/**
 * Bytes of buffers that are still referenced: what the garbage collector retains, not what it has not collected yet.
 */
export async function liveBytes(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  // Memory of a buffer is freed in the background, and counted as free by the following collection.
  for (let round = 0; round < 3; round++) {
    collectGarbage();
    await nextTurn();
  }
  return process.memoryUsage().arrayBuffers;
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export function isNotFound(key: string): (error: unknown) => boolean {
  return (error) => error instanceof ObjectNotFoundError && error.key === key;
}

export function isTooLarge(maxBytes: number): (error: unknown) => boolean {
  return (error) => error instanceof ObjectTooLargeError && error.maxBytes === maxBytes;
}
