/**
 * What an API process needs to take money for text calls, assembled: its lease, the ledger, and the sweep of what dead
 * processes left behind.
 */
import type { Database } from '../../database/database.ts';
import type { AccountDatabase } from '../../limits/row-databases.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { TextMetrics } from '../../telemetry/metrics-work.ts';
import { admitWaiting } from '../background/queue.ts';
import { settleEndedCalls } from '../background/record-outcome.ts';
import { acquireProcessLease, startTextSweep } from './process-lease.ts';
import { createTextLedger } from './text-ledger.ts';
import type { TextLedger } from './text-ledger.ts';

export interface TextMoney {
  readonly ledger: TextLedger;
  /** For the end of a process, after its last call was settled: writes the pending settlements, and ends the lease. */
  close(): Promise<void>;
}

/** @throws {DatabaseUnavailableError} */
export async function openTextMoney(dependencies: {
  readonly database: Database;
  readonly accountDatabase: AccountDatabase;
  readonly logger: Logger;
  readonly metrics: Pick<TextMetrics, 'exceeded'>;
}): Promise<TextMoney> {
  const { database, accountDatabase, logger, metrics } = dependencies;
  const lease = await acquireProcessLease({ database, logger });
  const ledger = createTextLedger({
    database,
    accountDatabase,
    processId: lease.processId,
    renewLease: () => lease.renew(),
    logger,
    onExceeded({ id, model, upstream, dueMicroUsd, heldMicroUsd }) {
      metrics.exceeded(model, BigInt(dueMicroUsd) - BigInt(heldMicroUsd));
      logger.warn(
        { call: id, model, upstream, dueMicroUsd, heldMicroUsd },
        'reported usage exceeds the hold; set inputTokens in the model file',
      );
    },
  });
  const sweep = startTextSweep({
    database,
    processId: lease.processId,
    settleReopened: () => ledger.settleReopened(),
    settleEnded: (limit) => settleEndedCalls(database, ledger, limit),
    admitWaiting: () => admitWaiting({ database, accountDatabase }),
    logger,
  });
  return {
    ledger,
    async close() {
      await sweep.close();
      await ledger.close();
      await lease.close();
    },
  };
}
