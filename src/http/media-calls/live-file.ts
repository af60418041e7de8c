/**
 * The response with one file that begins while the file is being generated. It begins with the first bytes that the
 * provider has sent, and ends with the rest of the stored file: that is the file that was paid for, so the bytes that
 * were sent have to be its beginning, whatever another attempt may have received meanwhile.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ParameterizedContext } from 'koa';
import type { Caller } from '../../accounts/authenticate.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { ServableOutput } from '../../objects/outputs/outputs.ts';
import { listenToOutput } from '../../tasks/record/output-pieces.ts';
import type { HttpContext, RequestState } from '../app/context.ts';

/** The first bytes of a file, by which its type is detected. */
const BEGINNING_BYTES = 64;
/** Bytes that may wait for a slow client. The rest waits in the database or the store. */
const MAX_WAITING_BYTES = 256 * 1024;

/** How the file is written into the response. */
export interface FileForm {
  /** Headers of the response. @param mimeType of the file. @param beginning what is there of it. */
  head(mimeType: string, beginning: Buffer): Readonly<Record<string, string>>;
  /** What is sent of the file; absent: all of it. */
  readonly content?: {
    /** Whether the file, of which this is the beginning, has it. */
    isIn(beginning: Buffer): boolean;
    /** @returns takes the content out of the bytes of the file, in their order. */
    open(): (bytes: Buffer) => Buffer;
  };
  /** @returns what is sent for a piece of the content. */
  piece(bytes: Buffer): Buffer | string;
  /** @returns what is sent after the last piece. */
  end(): string;
}

/** A file that is received while it is being generated, as far as its provider and the worker allow that. */
export interface LiveFile {
  /** Resolves when the first bytes are here and their type is known; never, if there are none before the task ends. */
  readonly hasBegun: Promise<'begun'>;
  /** Begins the response; from here on nothing else may respond. @param mimeType default: the detected one. */
  begin(mimeType?: string): void;
  isSending(): boolean;
  /** Sends the rest of the file, and ends the response. Destroys the connection if the file began otherwise. */
  finish(output: ServableOutput): Promise<void>;
  /** Breaks the response off, which the client notices. */
  abort(): void;
  /** Ends the listening. */
  close(): void;
}

type Context = ParameterizedContext<RequestState>;

/** Listens to the file of a task. */
export async function openLiveFile(
  http: HttpContext,
  { ctx, caller }: { readonly ctx: Context; readonly caller: Caller },
  taskId: TaskId,
  { form, setHeaders }: { readonly form: FileForm; readonly setHeaders: () => void },
): Promise<LiveFile> {
  await listenToOutput(http.database, taskId);
  const { res } = ctx;
  const hash = createHash('sha256');
  const waiting: Buffer[] = [];
  let waitingBytes = 0;
  /** How far the file was read. */
  let readBytes = 0;
  const contentOf = form.content?.open() ?? ((bytes: Buffer) => bytes);
  let isSending = false;
  let mimeType: string | undefined;
  let isDetecting = false;
  let announce = (): void => {};
  const hasBegun = new Promise<'begun'>((resolve) => {
    announce = () => resolve('begun');
  });

  const send = (bytes: Buffer): boolean => {
    readBytes += bytes.length;
    const content = contentOf(bytes);
    if (content.length === 0) return true;
    hash.update(content);
    return res.write(form.piece(content));
  };
  const detect = async (): Promise<void> => {
    if (isDetecting || mimeType !== undefined || waitingBytes < BEGINNING_BYTES) return;
    isDetecting = true;
    const beginning = Buffer.concat(waiting);
    const detected = await http.inspector.inspectBytes(caller.accountId, beginning);
    if (detected.kind !== 'audio' || form.content?.isIn(beginning) === false) return;
    ({ mimeType } = detected);
    announce();
  };
  const unsubscribe = http.pieces.subscribe(taskId, {
    onBytes(bytes) {
      if (isSending) {
        send(bytes);
        return;
      }
      waiting.push(bytes);
      waitingBytes += bytes.length;
      // A beginning of no known type is not sent: the file is, if it turns out to be one.
      detect().catch(() => undefined);
    },
    isWaiting: () => (isSending ? !res.writableNeedDrain && !res.destroyed : waitingBytes < MAX_WAITING_BYTES),
  });

  const begin = (type = mimeType): void => {
    ctx.respond = false;
    isSending = true;
    setHeaders();
    // Koa's headers are those of the response that it was to send.
    const head = form.head(type ?? 'application/octet-stream', Buffer.concat(waiting));
    res.writeHead(200, { 'Cache-Control': 'no-store', ...head });
    res.flushHeaders();
    for (const bytes of waiting.splice(0)) send(bytes);
  };

  return {
    hasBegun,
    begin,
    isSending: () => isSending,
    async finish({ objectKey, sizeBytes, mimeType: type }) {
      unsubscribe();
      if (!isSending) {
        waiting.length = 0;
        begin(type);
      }
      const stored = { objectKey, sizeBytes, contentOf: form.content?.open() };
      if (!(await hasPrefix(http, stored, readBytes, hash.copy().digest('hex')))) {
        http.logger.warn({ taskId }, 'the stored file begins otherwise than what was sent to the client');
        res.destroy();
        return;
      }
      if (readBytes < sizeBytes) {
        const rest = await http.store.read(objectKey, { start: readBytes, end: sizeBytes - 1 });
        await pipeline(rest, writerOf(res, send));
      }
      res.end(form.end());
    },
    abort: () => res.destroy(),
    close: unsubscribe,
  };
}

/** Whether the content of the first bytes of a stored file has a hash. */
async function hasPrefix(
  { store }: HttpContext,
  {
    objectKey,
    sizeBytes,
    contentOf = (bytes) => bytes,
  }: Pick<ServableOutput, 'objectKey' | 'sizeBytes'> & { readonly contentOf: ((bytes: Buffer) => Buffer) | undefined },
  length: number,
  sha256: string,
): Promise<boolean> {
  if (length === 0) return true;
  if (length > sizeBytes) return false;
  const hash = createHash('sha256');
  for await (const bytes of await store.read(objectKey, { start: 0, end: length - 1 }))
    hash.update(contentOf(bytes as Buffer));
  return hash.digest('hex') === sha256;
}

/** Takes bytes no faster than the client does. */
function writerOf(res: Context['res'], send: (bytes: Buffer) => boolean): Writable {
  return new Writable({
    write(bytes: Buffer, _encoding, done) {
      if (send(bytes)) {
        done();
        return;
      }
      const goOn = new AbortController();
      Promise.race([once(res, 'drain', goOn), once(res, 'close', goOn)])
        .then(
          () => done(res.destroyed ? new Error('the client has disconnected') : null),
          (error: unknown) => done(error instanceof Error ? error : new Error(String(error))),
        )
        .finally(() => goOn.abort());
    },
  });
}
