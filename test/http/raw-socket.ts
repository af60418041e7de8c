/** Bytes on a socket exactly as written: for what no HTTP client would send. */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** A connection for arbitrary bytes, and what came back on it. */
export interface Client {
  readonly socket: Socket;
  heard(): string;
  isClosed(): boolean;
}

/** @param host the address of this machine that it comes from. */
export function open(url: string, host = '127.0.0.1'): Client {
  const { port, protocol } = new URL(url);
  const where = { port: Number(port), host: '127.0.0.1', localAddress: host };
  const socket = protocol === 'https:' ? connectTls({ ...where, rejectUnauthorized: false }) : connect(where);
  let heard = '';
  let isClosed = false;
  socket.on('data', (bytes: Buffer) => {
    heard += bytes.toString('latin1');
  });
  socket.on('error', () => undefined);
  socket.once('close', () => {
    isClosed = true;
  });
  return { socket, heard: () => heard, isClosed: () => isClosed };
}
