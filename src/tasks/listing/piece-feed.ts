/**
 * Pieces of files that are being generated, for the clients that receive them meanwhile: one poller per process, which
 * runs only while there are readers, as for events (feed.ts).
 */
import type { Queryable } from '../../database/database.ts';
import { createPollPace, createPoller } from '../../database/poller.ts';
import { backoffMs } from '../../domain/waits.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { Logger } from '../../telemetry/log.ts';
import { readPieces } from '../record/output-pieces.ts';
import type { OutputPiece } from '../record/output-pieces.ts';

/** A reader of one task's file. Neither function may throw. */
export interface PieceReader {
  /** Takes the next bytes of the file. All are of one attempt. */
  onBytes(bytes: Buffer): void;
  /** Whether it takes more now: a client may be slower than the provider. */
  isWaiting(): boolean;
}

export interface PieceFeed {
  /** Reads a task's file from its beginning. @returns a function that ends the reading. */
  subscribe(taskId: TaskId, reader: PieceReader): () => void;
}

/** The polling interval while the database is unavailable, in milliseconds; otherwise database/poller.ts. */
const UNAVAILABLE = { firstMs: 500, maxMs: 4_000 };

interface Subscriber {
  readonly taskId: string;
  readonly reader: PieceReader;
  source: string | undefined;
  position: number;
}

export function createPieceFeed({
  database,
  logger,
}: {
  readonly database: Queryable;
  readonly logger: Logger;
}): PieceFeed {
  const byTask = new Map<string, Set<Subscriber>>();
  const pace = createPollPace();
  const offer = ({ taskId, source, position, bytes }: OutputPiece & { readonly taskId: string }): void => {
    for (const subscriber of byTask.get(taskId) ?? []) {
      subscriber.source ??= source;
      // Pieces follow each other: after a missing one the rest comes from the stored file.
      if (source !== subscriber.source || position !== subscriber.position) continue;
      subscriber.position += bytes.length;
      pace.happened();
      subscriber.reader.onBytes(bytes);
    }
  };

  const poll = async (): Promise<void> => {
    const waiting = [...byTask.values()].flatMap((each) => [...each]).filter(({ reader }) => reader.isWaiting());
    if (waiting.length === 0) return;
    for (const piece of await readPieces(database, waiting)) offer(piece);
  };

  const poller = createPoller({
    what: 'files while they are generated',
    poll: () => pace.timed(poll),
    isNeeded: () => byTask.size > 0,
    waitMs: (failures) => (failures > 0 ? backoffMs(UNAVAILABLE, failures - 1) : pace.waitMs(byTask.size)),
    logger,
  });

  return {
    subscribe(taskId, reader) {
      const subscriber: Subscriber = { taskId, reader, source: undefined, position: 0 };
      const others = byTask.get(taskId);
      if (others === undefined) byTask.set(taskId, new Set([subscriber]));
      else others.add(subscriber);
      pace.happened();
      poller.schedule();
      return () => {
        const subscribers = byTask.get(taskId);
        subscribers?.delete(subscriber);
        if (subscribers?.size === 0) byTask.delete(taskId);
        if (byTask.size === 0) poller.stop();
      };
    },
  };
}
