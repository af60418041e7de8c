/**
 * Server-sent events over an open connection (contract §4): headers that keep proxies from buffering events, a comment
 * after 15 s without events, and disconnection of clients that do not read. An open stream keeps only its HTTP response
 * in memory and nothing else of the request, because there may be many thousands of streams.
 */
import type { ServerResponse } from 'node:http';
import type { ParameterizedContext } from 'koa';
import { formatEvent } from '../../domain/server-sent-event.ts';
import type { ServerSentEvent } from '../../domain/server-sent-event.ts';
import type { RequestState } from '../app/context.ts';

/** Contract §4: "a comment `: keep-alive` after 15 s of silence". */
const SILENCE_MS = 15_000;
/** How often all streams are checked for silence, in milliseconds. */
const CHECK_INTERVAL_MS = 1_000;
/**
 * The maximum number of unread bytes that this process buffers for one client, in addition to the system's socket
 * buffer: some hundred events.
 */
const MAX_UNREAD_BYTES = 64 * 1024;
const KEEP_ALIVE = ': keep-alive\n\n';

export interface EventStream {
  /** Sends events in one write. A client with too many unread bytes is disconnected instead. */
  send(events: readonly ServerSentEvent[]): void;
  /** Whether the client is still connected and the stream has not ended. */
  isOpen(): boolean;
  /** Ends the stream. @param isLast whether to close the connection too, because the process stops. */
  end(isLast?: boolean): void;
}

/** All open streams of a process. */
export interface EventStreams {
  /**
   * Responds to a request with a stream. From here on nothing else may respond to it.
   *
   * @param onClose called once, when the stream ends or the client disconnects; not called if the client had
   *   disconnected before.
   */
  open(ctx: ParameterizedContext<RequestState>, onClose: () => void): EventStream;
  /**
   * Sends a comment on every stream that was silent for 15 s, and disconnects clients that do not read. Called by a
   * timer.
   */
  keepAlive(): void;
  /** The number of open streams. */
  count(): number;
}

/** Whether a client prefers the stream to JSON; if it accepts both equally, the order in its `Accept` decides. */
export function wantsEventStream(ctx: ParameterizedContext<RequestState>): boolean {
  return ctx.accepts('application/json', 'text/event-stream') === 'text/event-stream';
}

/** @param now milliseconds since 1970. */
export function createEventStreams(now: () => number): EventStreams {
  /** Open streams with the time of their last write; the one that has been silent the longest comes first. */
  const open = new Map<ServerResponse, number>();
  let timer: NodeJS.Timeout | undefined;

  const write = (response: ServerResponse, text: string): void => {
    if (response.writableEnded || response.destroyed) return;
    if (response.writableLength > MAX_UNREAD_BYTES) {
      response.destroy();
      return;
    }
    response.write(text);
    open.delete(response);
    open.set(response, now());
  };

  const keepAlive = (): void => {
    const silentSince = now() - SILENCE_MS;
    // A stream that is written to moves to the end of the map, where it is no longer silent.
    for (const [response, writtenAt] of open) {
      if (writtenAt > silentSince) break;
      if (response.writableLength > 0) response.destroy();
      else write(response, KEEP_ALIVE);
    }
  };

  return {
    open(ctx, onClose) {
      const { res: response } = ctx;
      ctx.respond = false;
      response.writeHead(200, {
        'Content-Type': 'text/event-stream; charset=utf-8',
        'Cache-Control': 'no-cache, no-transform',
        'X-Accel-Buffering': 'no',
      });
      response.flushHeaders();
      if (!response.destroyed) {
        open.set(response, now());
        timer ??= setInterval(keepAlive, CHECK_INTERVAL_MS).unref();
        response.once('close', () => {
          open.delete(response);
          if (open.size === 0) {
            clearInterval(timer);
            timer = undefined;
          }
          onClose();
        });
      }
      return {
        send: (events) => write(response, events.map(formatEvent).join('')),
        isOpen: () => !response.writableEnded && !response.destroyed,
        end(isLast = false) {
          if (response.writableEnded) return;
          const { socket } = response;
          response.end(isLast ? () => socket?.end() : undefined);
        },
      };
    },
    keepAlive,
    count: () => open.size,
  };
}
