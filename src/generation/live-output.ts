/**
 * Passes the file that a provider sends on to the client that waits for it, while it arrives: `POST /v1/audio/speech`
 * delivers the first sound before the last one is generated. A response that is complete within a moment, or whose
 * task no client listens to, costs nothing or one query.
 */
import { randomUUID } from 'node:crypto';
import { CollectedBytes } from '@darkroom/media/collected-bytes';
import type { TaskId } from '../domain/workflow-ids.ts';
import { appendPiece, isListenedTo } from '../tasks/record/output-pieces.ts';
import type { GenerationContext } from './context.ts';

/** How long bytes are collected for one piece, in milliseconds: as often as the other side looks for them. */
const COLLECT_MS = 250;
/**
 * What may wait in memory for a listener or for the database: minutes of speech, and nothing that the worker notices.
 * A file with more is not passed on any further.
 */
const MAX_WAITING_BYTES = 1024 * 1024;

export interface LiveOutput {
  /** Takes bytes as they arrive. Never throws and never waits. */
  readonly push: (bytes: Uint8Array) => void;
  /** The response has ended: the client gets the rest from the stored file. */
  close(): void;
}

/** The file of one attempt. */
export function openLiveOutput(
  { database, logger }: Pick<GenerationContext, 'database' | 'logger'>,
  taskId: TaskId,
): LiveOutput {
  const source = randomUUID();
  const waiting = new CollectedBytes();
  let position = 0;
  let hasListener = false;
  let isWriting = false;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const close = (): void => {
    isClosed = true;
    clearTimeout(timer);
    timer = undefined;
    waiting.clear();
  };

  const write = async (): Promise<void> => {
    hasListener ||= await isListenedTo(database, taskId);
    if (!hasListener || isClosed || waiting.length === 0) return;
    const bytes = waiting.take();
    await appendPiece(database, taskId, { source, position, bytes });
    position += bytes.length;
  };

  const schedule = (): void => {
    if (isClosed || isWriting || timer !== undefined || waiting.length === 0) return;
    timer = setTimeout(() => {
      timer = undefined;
      isWriting = true;
      write()
        .catch((error: unknown) => {
          logger.debug({ err: error, taskId }, 'a file could not be passed on while it is received');
          close();
        })
        .finally(() => {
          isWriting = false;
          schedule();
        });
    }, COLLECT_MS);
  };

  return {
    push(bytes) {
      if (isClosed) return;
      waiting.push(bytes);
      if (waiting.length > MAX_WAITING_BYTES) close();
      else schedule();
    },
    close,
  };
}
