/**
 * The end of a connection, reported once everything before it was read. undici 7 learns of it by an event, and if its
 * reader is behind just then, it fails an assertion that cannot be caught, or calls a complete response lost; its
 * release 8 waits, and requires a newer Node. It reads a socket by `read()` until nothing comes; if its reader falls
 * behind, it stops and puts back what is left, even if that is nothing. So the end can wait for a call that returns
 * nothing and after which nothing is put back.
 */
import type { Socket } from 'node:net';
import { buildConnector } from 'undici';
import { createSharedLookup } from './shared-lookup.ts';

/** One for the process, because its threads are shared by the process. */
const sharedLookup = createSharedLookup();

/** Makes a socket report its end late. @returns the same socket; it must not have been read from. */
export function endWhenRead<S extends Socket>(socket: S): S {
  const push = socket.push.bind(socket);
  const read = socket.read.bind(socket);
  const unshift = socket.unshift.bind(socket);
  let isBehind = false;
  let isEndHeld = false;

  const isUnread = (): boolean => isBehind || socket.readableLength > 0;
  const tellEnd = (): void => {
    if (!isEndHeld || socket.destroyed || isUnread()) return;
    isEndHeld = false;
    push(null);
    read(0);
  };
  socket.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    if (chunk !== null || !isUnread()) return push(chunk, encoding);
    isEndHeld = true;
    return false;
  };
  socket.unshift = (chunk: unknown, encoding?: BufferEncoding): void => {
    isBehind = true;
    unshift(chunk, encoding);
  };
  socket.read = (size?: number): unknown => {
    const chunk: unknown = read(size);
    // Node itself sometimes reads zero bytes, to have more fetched.
    if (size === 0) return chunk;
    isBehind = false;
    // Not within the call: its caller has yet to look at what it has.
    if (chunk === null && isEndHeld) setImmediate(tellEnd);
    return chunk;
  };
  return socket;
}

/** For undici's own connections. @param timeoutMs to connect, TLS included. */
export function connectorOf(timeoutMs: number): buildConnector.connector {
  const connect = buildConnector({ timeout: timeoutMs, lookup: sharedLookup });
  return (options, callback) => {
    connect(options, (...[error, socket]) => {
      if (error === null) callback(null, endWhenRead(socket));
      else callback(error, null);
    });
  };
}
