/** Gathers the evidence once all is quiet: the logs, and every public response that an invariant needs. */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { lineKey } from '../../src/batches/line.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { Statement } from '../../src/database/database.ts';
import { textCallIdForLine } from '../../src/domain/ids.ts';
import { ask, statusOf } from './clients/ask.ts';
import { download } from './clients/client.ts';
import type {
  AccountAnswer,
  AccountEvidence,
  BatchEvidence,
  CallbackEvidence,
  Evidence,
  LedgerAnswer,
  ResultLine,
} from './evidence.ts';
import { readLedger } from './ledger-file.ts';
import type { ProviderLine } from './provider/ledger.ts';
import type { ReceiverLine } from './receivers/log.ts';
import type { BatchAnswer, ClientLine, ResponseAnswer, TaskAnswer } from './records.ts';
import type { WorldAccount } from './world/accounts.ts';
import type { World } from './world/world.ts';

const ATTEMPTS = 20;
const RETRY_MS = 500;
const PAGE = 100;

/** The operator's costs are public by day only. What was recorded of a call is a multiple of what was held for it. */
const SELECT_LOST_REQUESTS: Statement = {
  name: 'chaos_lost_requests',
  text: `SELECT t.id, (o.at_most_micro_usd / t.held_micro_usd)::integer AS requests
           FROM operator_costs o JOIN text_calls t ON o.task_id = t.id || ':lost'
          WHERE o.reason = 'attempt_lost' AND t.held_micro_usd > 0`,
};

export async function gather(
  world: World,
  accounts: ReadonlyMap<string, WorldAccount>,
): Promise<Omit<Evidence, 'leftovers' | 'connections'>> {
  const accountEvidence = new Map<string, AccountEvidence>();
  const callbacks = new Map<string, CallbackEvidence>();
  const downloads: ClientLine[] = [];
  const clients = await readLedger<ClientLine>(world.files.clients);
  for (const [name, account] of accounts) {
    const get = <T>(path: string): Promise<T> => read<T>(world, account, path);
    const tasks = await allTasks(get);
    accountEvidence.set(name, {
      account: await get<AccountAnswer>('/v1/account'),
      webhookSecret: account.webhookSecret,
      tasks,
      ledger: await allEntries(get),
      batches: await allBatches(world, account),
      responses: await allResponses(
        world,
        account,
        clients.filter((line) => 'account' in line && line.account === name),
      ),
    });
    for (const { taskId, callback, output } of tasks) {
      if (callback !== undefined) {
        callbacks.set(taskId, await get<CallbackEvidence>(`/v1/tasks/${taskId}/callback/attempts`));
      }
      for (const { id, url } of output ?? []) downloads.push(await downloadSurely(taskId, id, url));
    }
  }
  return {
    clients,
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
    interruptions: [],
    trials: [],
    lostRequests: await lostRequests(world),
    waitedFor: await waitedFor(world, clients),
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

/** The same of an endpoint of OpenAI's API, which has no envelope. @returns undefined: 404. */
async function readIfThere<T>(world: World, { key }: WorldAccount, path: string): Promise<T | undefined> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { outcome, body } = await ask({ url: `${world.apiUrls[attempt % 2]}${path}`, key });
    if (statusOf(outcome) === 200) return body as T;
    if (statusOf(outcome) === 404) return undefined;
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

async function lostRequests({ testDatabase: { database } }: World): Promise<ReadonlyMap<string, number>> {
  const rows = await database.query<{ id: string; requests: number }>(SELECT_LOST_REQUESTS);
  return new Map(rows.map(({ id, requests }) => [id, requests]));
}

const SELECT_END_USERS: Statement = {
  name: 'chaos_end_users',
  text: 'SELECT call_id AS id, end_user AS marker FROM text_call_end_users',
};

async function waitedFor(
  { testDatabase: { database } }: World,
  clients: readonly ClientLine[],
): Promise<Evidence['waitedFor']> {
  const owners = new Map(clients.flatMap((line) => (line.kind === 'text' ? [[line.marker, line.account]] : [])));
  const rows = await database.query<{ id: string; marker: string }>(SELECT_END_USERS);
  return new Map(rows.map(({ id, marker }) => [marker, { id, account: owners.get(marker) ?? '' }]));
}

async function allResponses(
  world: World,
  account: WorldAccount,
  lines: readonly ClientLine[],
): Promise<AccountEvidence['responses']> {
  const ids = new Set(lines.flatMap((line) => (line.kind === 'background' ? (line.responseId ?? []) : [])));
  const found = new Map<string, ResponseAnswer | undefined>();
  for (const id of ids) found.set(id, await readIfThere<ResponseAnswer>(world, account, `/v1/responses/${id}`));
  return found;
}

async function allBatches(world: World, account: WorldAccount): Promise<readonly BatchEvidence[]> {
  const found: BatchEvidence[] = [];
  for (let after = ''; ;) {
    const path = `/v1/batches?limit=${PAGE}${after}`;
    const page = await readIfThere<{ data: readonly BatchAnswer[]; has_more: boolean }>(world, account, path);
    for (const batch of page?.data ?? []) {
      const results = async (id: string | undefined): Promise<readonly ResultLine[]> => {
        const lines = id === undefined ? [] : await readResults(world, account, id);
        return lines.map((line) => ({ requestId: callIdOf(world, account, batch, line), ...line }));
      };
      found.push({ batch, output: await results(batch.output_file_id), errors: await results(batch.error_file_id) });
    }
    if (page?.has_more !== true) return found;
    after = `&after=${page.data.at(-1)?.id ?? ''}`;
  }
}

/**
 * The id of the text call that a line without an answer was or would have been: what was lost of it is recorded under
 * that id. The marker of a line ends with its index.
 */
function callIdOf(
  { installationId }: World,
  account: WorldAccount,
  { id, endpoint }: BatchAnswer,
  { customId }: ResultLine,
): string | undefined {
  const [, index] = /-(\d+)-$/.exec(customId ?? '') ?? [];
  if (index === undefined || endpoint !== '/v1/chat/completions') return undefined;
  return textCallIdForLine('chat', installationId, account.id, lineKey(id, Number(index)));
}

interface WireResult {
  readonly custom_id: string | null;
  readonly error: { readonly code: string } | null;
  readonly response: {
    readonly status_code: number;
    readonly request_id: string;
    readonly body: {
      readonly error_code?: string;
      readonly error?: { readonly code: string | null };
      readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number };
    };
  } | null;
}

/** @throws {Error} the file cannot be read, although all is healed. */
async function readResults(world: World, { key }: WorldAccount, fileId: string): Promise<readonly ResultLine[]> {
  const headers = { Authorization: `Bearer ${key}` };
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const url = `${world.apiUrls[attempt % 2]}/v1/files/${fileId}/content`;
    const response = await fetch(url, { headers }).catch(() => undefined);
    const text = await response?.text().catch(() => undefined);
    if (response?.status === 200 && text !== undefined) return text.split('\n').filter(Boolean).map(resultOf);
    await sleep(RETRY_MS);
  }
  throw new Error(`no content of ${fileId}, although all is healed`);
}

function resultOf(text: string): ResultLine {
  const { custom_id: customId, response, error } = JSON.parse(text) as WireResult;
  if (response === null) return { customId, ...(error === null ? {} : { errorCode: error.code }) };
  const { status_code: status, request_id: requestId, body } = response;
  const { usage } = body;
  const errorCode = body.error?.code ?? body.error_code;
  return {
    customId,
    requestId,
    status,
    ...(errorCode === undefined ? {} : { errorCode }),
    ...(usage === undefined ? {} : { usage: { input: usage.prompt_tokens, output: usage.completion_tokens } }),
  };
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
