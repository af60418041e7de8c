/**
 * What an api process needs to answer text calls: the source of the answers and the ledger. Separate from
 * http-context.ts, because it is opened and closed: the ledger holds a lease in PostgreSQL, and closing it settles open
 * calls, so that other processes need not.
 */
import { createUpstreamDatabase } from '../limits/row-databases.ts';
import { openTextMoney } from '../text/money/text-money.ts';
import { createEmbeddedTextSource } from '../text/offline-source.ts';
import { loadVocabulary } from '@darkroom/offline-text/tokens';
import { loadTokenizer } from '../text/tokens.ts';
import type { TextSource } from '../text/source.ts';
import { createTextThreads } from '../text/threads/text-threads.ts';
import type { TextThreads } from '../text/threads/text-threads.ts';
import type { TextLedger } from '../text/money/text-ledger.ts';
import { createTextRouter } from '../text/upstream/text-router.ts';
import { createUpstreamGate } from '../upstreams/gate.ts';
import type { Foundation } from './foundation.ts';
import type { DatabaseWait } from './wait-for-dependencies.ts';

export interface TextParts {
  readonly source: TextSource;
  readonly threads: TextThreads;
  readonly ledger: TextLedger;
  /** After the last call: settles what is open, and ends the lease. */
  close(): Promise<void>;
}

/** @param waitForDatabase runs the step that needs it. */
export async function openTextParts(
  foundation: Pick<
    Foundation,
    'config' | 'database' | 'accountDatabase' | 'logger' | 'metrics' | 'now' | 'upstreamSettings'
  >,
  waitForDatabase: DatabaseWait,
): Promise<TextParts> {
  const { config, database, accountDatabase, logger, metrics, now, upstreamSettings } = foundation;
  const threads = createTextThreads({ metrics: metrics.shares });
  // A few tenths of a second of work that the first call need not wait for.
  void Promise.all([loadTokenizer(), loadVocabulary(), threads.start()]).catch((err: unknown) => {
    logger.error({ err }, 'starting the tokenizer or the text threads failed');
  });
  const money = await waitForDatabase(() =>
    openTextMoney({ database, accountDatabase, logger, metrics: metrics.text }),
  );
  const router = createTextRouter({
    embedded: createEmbeddedTextSource(threads),
    secrets: upstreamSettings,
    gate: createUpstreamGate({
      database,
      upstreamDatabase: createUpstreamDatabase(database, config.database.poolSize, metrics.shares),
      logger,
    }),
    metrics: metrics.outgoing,
    logger,
    now,
  });
  return {
    source: router,
    threads,
    ledger: money.ledger,
    async close() {
      await router.close();
      await threads.close();
      await money.close();
    },
  };
}
