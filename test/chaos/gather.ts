/** Gathers the evidence once all is quiet: the logs, and every public response that an invariant needs. */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { verifyLedger } from '../../src/billing/verify.ts';
import { ask, statusOf } from './clients/ask.ts';
import { download } from './clients/client.ts';
import type { AccountAnswer, AccountEvidence, CallbackEvidence, Evidence, LedgerAnswer } from './evidence.ts';
import { readLedger } from './ledger-file.ts';
import type { ProviderLine } from './provider/ledger.ts';
import type { ReceiverLine } from './receivers/log.ts';
import type { ClientLine, TaskAnswer } from './records.ts';
import type { WorldAccount } from './world/accounts.ts';
import type { World } from './world/world.ts';

const ATTEMPTS = 20;
const RETRY_MS = 500;
const PAGE = 100;

export async function gather(
  world: World,
  accounts: ReadonlyMap<string, WorldAccount>,
): Promise<Omit<Evidence, 'leftovers' | 'connections'>> {
  const accountEvidence = new Map<string, AccountEvidence>();
  const callbacks = new Map<string, CallbackEvidence>();
  const downloads: ClientLine[] = [];
  for (const [name, account] of accounts) {
    const get = <T>(path: string): Promise<T> => read<T>(world, account, path);
    const tasks = await allTasks(get);
    accountEvidence.set(name, {
      account: await get<AccountAnswer>('/v1/account'),
      webhookSecret: account.webhookSecret,
      tasks,
      ledger: await allEntries(get),
    });
    for (const { taskId, callback, output } of tasks) {
      if (callback !== undefined) {
        callbacks.set(taskId, await get<CallbackEvidence>(`/v1/tasks/${taskId}/callback/attempts`));
      }
      for (const { id, url } of output ?? []) downloads.push(await downloadSurely(taskId, id, url));
    }
  }
  return {
    clients: await readLedger<ClientLine>(world.files.clients),
    provider: await readLedger<ProviderLine>(world.files.provider),
    receivers: await readLedger<ReceiverLine>(world.files.receivers),
    accounts: accountEvidence,
    callbacks,
    callbackAttemptsAtMost: world.callbackOffsetsSeconds.length,
    downloads,
    ledgerErrors: (await verifyLedger(world.testDatabase.database)).map(
      ({ rule, subject, detail }) => `${rule}: ${subject}: ${detail}`,
    ),
    allowedAddresses: world.allowedAddresses,
    // The storm knows them.
    losses: [],
    unsettledTimes: [],
    trials: [],
  };
}

/** The connections that our processes made; read last of all. */
export async function readConnections(world: World): Promise<readonly string[]> {
  const text = await readFile(world.files.connections, 'utf8').catch(() => '');
  return [...new Set(text.split('\n').filter(Boolean))];
}

/** The world is healed: a missing response is a bug of its own. @throws {Error} there is none. */
async function read<T>(world: World, { key }: WorldAccount, path: string): Promise<T> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { outcome, data } = await ask({ url: `${world.apiUrls[attempt % 2]}${path}`, key });
    if (statusOf(outcome) === 200) return data as T;
    await sleep(RETRY_MS);
  }
  throw new Error(`no answer to GET ${path}, although all is healed`);
}

async function downloadSurely(taskId: string, outputId: string, url: string): Promise<ClientLine> {
  let line = await download(taskId, outputId, url);
  for (let attempt = 0; attempt < 3 && !(line.kind === 'download' && line.bytes !== undefined); attempt++) {
    await sleep(RETRY_MS);
    line = await download(taskId, outputId, url);
  }
  return line;
}

async function allTasks(get: <T>(path: string) => Promise<T>): Promise<readonly TaskAnswer[]> {
  const tasks: TaskAnswer[] = [];
  for (let page = 1; ; page++) {
    const found = await get<{ tasks: readonly TaskAnswer[] }>(`/v1/tasks?page=${page}&size=${PAGE}`);
    tasks.push(...found.tasks);
    if (found.tasks.length < PAGE) return tasks;
  }
}

async function allEntries(get: <T>(path: string) => Promise<T>): Promise<readonly LedgerAnswer[]> {
  const entries: LedgerAnswer[] = [];
  let cursor = '';
  for (;;) {
    const page = await get<{ entries: readonly LedgerAnswer[]; nextCursor?: string }>(
      `/v1/account/ledger?size=${PAGE}${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    entries.push(...page.entries);
    if (page.nextCursor === undefined) return entries.toReversed();
    cursor = page.nextCursor;
  }
}
