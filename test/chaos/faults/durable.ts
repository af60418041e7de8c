/**
 * What durable work waits out: its account is suspended in the middle of a batch, and Temporal is paused while
 * responses are answered in the background. Each fault brings its own work, so that there is some.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { setSuspended } from '../../../src/accounts/accounts.ts';
import type { Statement } from '../../../src/database/database.ts';
import { callInBackground } from '../clients/background.ts';
import type { DurableClient } from '../clients/background.ts';
import { runBatch } from '../clients/batch.ts';
import { readLedger } from '../ledger-file.ts';
import type { ProviderLine } from '../provider/ledger.ts';
import type { TrialRoom } from '../trials/trial.ts';
import { TEXT_MODEL } from '../world/models.ts';
import { counted } from './fault-evidence.ts';
import type { FaultEvidence } from './fault-evidence.ts';

const LOOK_MS = 250;
/** Other faults may delay the beginning. */
const BEGUN_WITHIN_MS = 30_000;
/** Without an end by then there is none; the invariants say so. */
const ENDED_WITHIN_MS = 150_000;

const LINES = 24;
/** So few at once that the batch is in the middle when its account is suspended. */
const TEXT_STREAMS_CAP = 8;
const OPEN_LINES: Statement = {
  name: 'chaos_open_lines',
  text: `SELECT count(b.id)::integer AS batches, coalesce(sum(lines_settled), 0)::integer AS settled,
                count(b.waiting_for)::integer AS waiting
           FROM batches b WHERE account_id = $1 AND ended_at IS NULL`,
};

interface OpenLines {
  readonly batches: number;
  readonly settled: number;
  readonly waiting: number;
}

/** A client of an account of this fault's own, whose work goes on when the fault is over. */
export async function openClient(room: TrialRoom, name: string): Promise<{ id: string; client: DurableClient }> {
  const { id, key: apiKey } = await room.openAccount(name, { textStreamsCap: TEXT_STREAMS_CAP });
  const { world, record } = room;
  const end = AbortSignal.timeout(ENDED_WITHIN_MS);
  return { id, client: { account: name, apiKey, apiUrls: world.apiUrls, record, end } };
}

export async function suspendDuringBatch(room: TrialRoom, name: string, forMs: number): Promise<FaultEvidence> {
  const { database } = room.world.testDatabase;
  const { id, client } = await openClient(room, name);
  const lines = Array.from({ length: LINES }, () => '[slow]');
  const wish = { name: '0', endpoint: '/v1/chat/completions', model: TEXT_MODEL, lines } as const;
  void runBatch(client, wish, 0);
  const look = async (): Promise<OpenLines> => {
    const [open] = await database.query<OpenLines>(OPEN_LINES, [id]).catch(() => []);
    return open ?? { batches: 0, settled: 0, waiting: 0 };
  };
  const deadline = Date.now() + BEGUN_WITHIN_MS;
  while ((await look()).settled === 0 && Date.now() < deadline) await sleep(LOOK_MS);
  await setSuspended(database, id, true);
  const before = await look();
  await sleep(forMs);
  const { waiting } = await look();
  await setSuspended(database, id, false);
  const evidence = `suspended after ${before.settled} of ${LINES} lines; ${waiting} batches said that they wait`;
  return { hasFired: before.batches > 0 && before.settled < LINES, evidence };
}

const CALLS = 4;

export async function pauseTemporal(room: TrialRoom, name: string, forMs: number): Promise<FaultEvidence> {
  const { client } = await openClient(room, name);
  const calls = Array.from({ length: CALLS }, (_, index) => {
    const marker = `marker-${name}-${index}-`;
    return { key: `${name}-${index}`, marker, prompt: `${marker} say something [long]` };
  });
  for (const [index, wish] of calls.entries()) void callInBackground(client, wish, index);
  const isInProgress = async (): Promise<number> => {
    const states = new Map<string, string>();
    for (const line of await readLedger<ProviderLine>(room.world.files.provider)) {
      if (line.kind === 'text') states.set(line.marker, line.state);
    }
    return calls.filter(({ marker }) => states.get(marker) === 'asked').length;
  };
  const deadline = Date.now() + BEGUN_WITHIN_MS;
  while ((await isInProgress()) < CALLS && Date.now() < deadline) await sleep(LOOK_MS);
  const temporal = room.world.part('temporal');
  temporal.signal('SIGSTOP');
  await sleep(forMs);
  const count = await isInProgress();
  temporal.signal('SIGCONT');
  return counted(count, 'calls were in progress when it went on');
}
