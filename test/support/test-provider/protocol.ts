/** What the interfaces of the test provider share: the types of their requests and responses. */
import { readBehaviour } from './behaviour.ts';
import type { Job, Jobs } from './jobs.ts';
import type { LogLine } from './log.ts';

/** A request below an interface's own prefix, its body already read. */
export interface Incoming {
  readonly method: string;
  /** Without the prefix: `/predictions/abc`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Without its question mark. */
  readonly query: URLSearchParams;
  /** The fields of the JSON or of the form; an empty object if there is no body. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The files of a form. */
  readonly files: readonly ReceivedFile[];
  /** Resolves when the caller has disconnected without waiting for the response. */
  readonly abandoned: Promise<void>;
}

/** One file of a form: its field, its name and its type. */
export interface ReceivedFile {
  readonly field: string;
  readonly name: string;
  readonly mimeType: string;
  readonly bytes: Buffer;
}

/**
 * A response: JSON, a page of HTML, a file, the file of a job, `huge`, which declares 3 TB, or `drop`, which cuts the
 * connection.
 */
export type Reply =
  | { readonly status: number; readonly bytes: Buffer; readonly mimeType: string }
  | { readonly fileOf: Job }
  | { readonly status: number; readonly json: unknown; readonly headers?: Readonly<Record<string, string>> }
  | { readonly status: number; readonly html: string }
  | 'huge'
  | 'drop';

/** The context of an interface. */
export interface Room {
  readonly jobs: Jobs;
  readonly log: (line: Omit<LogLine, 'at'>) => void;
  /** The URL of a job's image. */
  fileUrl(job: Job): string;
}

/** The formats that differ between the interfaces. */
export interface Wording {
  error(status: number, kind: 'content' | 'model' | 'other', prompt?: string): Reply;
}

/** Every field that one of our interfaces may read, each with a wrong type. */
export const OTHER_TYPES = {
  id: { value: 7 },
  request_id: ['a'],
  status: { of: 'things' },
  state: 4,
  progress: 'half',
  data: 'text',
  output: 17,
  images: 'none',
  error: [false],
};

/** The `Retry-After` seconds of a rejection with 429 or 503. */
const RETRY_AFTER_SECONDS = 7;

/** The headers of a rejection: providers say how long to wait only if waiting helps. @param prompt can request less. */
export function rejectionHeaders(status: number, prompt = ''): Readonly<Record<string, string>> {
  const seconds = readBehaviour(prompt).retryAfterSeconds || RETRY_AFTER_SECONDS;
  return status === 429 || status === 503 ? { 'retry-after': String(seconds) } : {};
}

/** How `[html]`, `[drop]`, `[500]`, `[hold-submit]` and `[delay-submit]` change the response to an accepted submit. */
export async function answerSubmit(job: Job, reply: Reply, wording: Wording): Promise<Reply> {
  const { behaviour } = job;
  if (behaviour.dropsConnection) return 'drop';
  if (behaviour.answersHtml) return { status: 200, html: '<!doctype html><title>One moment</title>' };
  if (behaviour.answers500) return wording.error(500, 'other');
  if (behaviour.answersTooMuch) return 'huge';
  if (behaviour.answersOtherTypes) return { status: 200, json: OTHER_TYPES };
  await job.answerable;
  if (behaviour.answerDelayMs > 0) {
    await new Promise((resolve) => setTimeout(resolve, behaviour.answerDelayMs));
  }
  return reply;
}

/** The text of a field, empty if it is missing. */
export function textOf(body: unknown, name: string): string {
  const value = typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[name] : undefined;
  return typeof value === 'string' ? value : '';
}
