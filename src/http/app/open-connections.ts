/**
 * What a listener is doing at this moment: the open connections, and the requests that are being answered, so that it
 * can shut down without cutting off anything that a client waits for.
 */
import type { EventEmitter } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** @param event reports a connection that can be written to: `secureConnection` of a server with TLS. */
export function openConnections(server: EventEmitter, event: 'connection' | 'secureConnection'): ReadonlySet<Socket> {
  const open = new Set<Socket>();
  server.on(event, (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  return open;
}

export interface DrainableListener {
  readonly listener: RequestListener;
  /** From now on every response that begins announces that it is the last one of its connection. */
  drain(): void;
  /** Responses that began before also end their connection: no new request may follow on it. */
  finish(): void;
}

export function drainable(listener: RequestListener): DrainableListener {
  const answering = new Set<ServerResponse>();
  let isDraining = false;
  return {
    listener(request, response) {
      answering.add(response);
      response.once('close', () => answering.delete(response));
      if (isDraining) response.setHeader('Connection', 'close');
      listener(request, response);
    },
    drain() {
      isDraining = true;
      for (const response of answering) if (!response.headersSent) response.setHeader('Connection', 'close');
    },
    // Not while draining: a client that was not notified may be sending its next request at that very moment.
    finish() {
      for (const response of answering) {
        // Read now: a finished response no longer has its socket.
        const { socket } = response;
        response.once('finish', () => socket?.end());
      }
    },
  };
}
