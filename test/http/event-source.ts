/**
 * A reader of server-sent events as the WHATWG standard describes one: lines, fields, an event at each empty line. It
 * stores everything that arrived, comments too, for the tests.
 */
import { waitFor } from '@darkroom/testing/wait-for';

export interface ReceivedEvent {
  readonly id: string;
  readonly event: string;
  readonly data: unknown;
}

export interface EventSourceReader {
  readonly status: number;
  readonly headers: Headers;
  readonly events: readonly ReceivedEvent[];
  readonly comments: readonly string[];
  /** Whether the server ended the stream. */
  readonly isOver: boolean;
  /** Waits until this many events have arrived. @throws {Error} they never come, or the stream ended before. */
  waitFor(count: number): Promise<void>;
  /** Waits until the server has ended the stream. */
  ended(): Promise<void>;
  /** Disconnects in the middle. */
  leave(): void;
}

export async function openEventSource(
  url: string,
  key: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<EventSourceReader> {
  const gone = new AbortController();
  const response = await fetch(url, {
    headers: { Authorization: `Bearer ${key}`, Accept: 'text/event-stream', ...headers },
    signal: gone.signal,
  });
  const events: ReceivedEvent[] = [];
  const comments: string[] = [];
  let isOver = false;
  void read(response, events, comments)
    .catch(() => undefined)
    .finally(() => {
      isOver = true;
    });
  return {
    status: response.status,
    headers: response.headers,
    events,
    comments,
    get isOver() {
      return isOver;
    },
    async waitFor(count) {
      await waitFor(
        () => `${count} events; there are ${events.length}`,
        () => {
          if (events.length >= count) return true;
          if (isOver) throw new Error(`the stream ended after ${events.length} events`);
          return false;
        },
      );
    },
    async ended() {
      await waitFor('the end of the stream', () => isOver);
    },
    leave: () => gone.abort(),
  };
}

async function read(response: Response, events: ReceivedEvent[], comments: string[]): Promise<void> {
  let rest = '';
  let fields: Record<string, string> = {};
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith(':')) comments.push(line);
      else if (line === '') {
        if (fields['data'] !== undefined) {
          events.push({ id: fields['id'] ?? '', event: fields['event'] ?? '', data: JSON.parse(fields['data']) });
        }
        fields = {};
      } else {
        const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
        fields[name] = name === 'data' && fields['data'] !== undefined ? `${fields['data']}\n${value}` : value;
      }
    }
  }
}
