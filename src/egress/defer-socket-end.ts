/**
 * Works around nodejs/undici#5360: if a connection ends while the reader of the response is behind, undici 7 fails an
 * assertion that cannot be caught, or reports a complete response as lost. This defers the end of a socket until all
 * data before it has been read. undici reads a socket by `read()` until that returns null; if its reader falls behind,
 * it stops and puts the rest back with `unshift`, even an empty rest. The end is therefore emitted after a `read()`
 * that returned null and was not followed by an `unshift`.
 *
 * Remove this file once the service uses undici 8, which fixes the issue but does not support Node 20.
 */
import type { Socket } from 'node:net';

/** Defers the end of a socket until its data is read. @param socket not read from yet. @returns the same socket. */
export function deferSocketEnd<S extends Socket>(socket: S): S {
  const push = socket.push.bind(socket);
  const read = socket.read.bind(socket);
  const unshift = socket.unshift.bind(socket);
  let isBehind = false;
  let isEndDeferred = false;

  const isUnread = (): boolean => isBehind || socket.readableLength > 0;
  const emitEnd = (): void => {
    if (!isEndDeferred || socket.destroyed || isUnread()) return;
    isEndDeferred = false;
    push(null);
    read(0);
  };
  socket.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    if (chunk !== null || !isUnread()) return push(chunk, encoding);
    isEndDeferred = true;
    return false;
  };
  socket.unshift = (chunk: unknown, encoding?: BufferEncoding): void => {
    isBehind = true;
    unshift(chunk, encoding);
  };
  socket.read = (size?: number): unknown => {
    const chunk: unknown = read(size);
    // Node calls read(0) to trigger a read from the underlying resource.
    if (size === 0) return chunk;
    isBehind = false;
    // Not synchronously: the caller may still put data back.
    if (chunk === null && isEndDeferred) setImmediate(emitEnd);
    return chunk;
  };
  return socket;
}
