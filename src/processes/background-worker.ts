/** The part of an api that answers text calls which no connection waits for. */
import type { NativeConnection } from '@temporalio/worker';
import { createBackgroundActivities } from '../../activities/index.ts';
import type { HttpContext } from '../http/app/context.ts';
import { createBackgroundContext } from '../http/text/background-context.ts';
import type { TextLedger } from '../text/money/text-ledger.ts';
import { startApiActivityWorker } from './api-activity-worker.ts';
import type { ApiActivityWorker } from './api-activity-worker.ts';

/** Text calls that one process answers in the background at the same time. */
const BACKGROUND_SLOTS = 100;

export function startBackgroundWorker(
  http: HttpContext,
  ledger: TextLedger,
  connection: NativeConnection,
  installationId: string,
): ApiActivityWorker {
  const context = createBackgroundContext(http, ledger);
  return startApiActivityWorker({
    http,
    connection,
    installationId,
    queue: 'background',
    slots: BACKGROUND_SLOTS,
    graceMs: http.config.worker.upstreamGraceMs,
    createActivities: (stops) => createBackgroundActivities(context, stops),
  });
}
