/**
 * How providers call back: the URLs that they may call, the record of their calls, and the feed that wakes the tasks
 * that wait for them. The record is one row for each task that has not ended, which is only a counter. The content that
 * the provider sent is not stored, because it is not trusted (architecture, "A provider's webhook is a hint"). Whether
 * its own signature is verified too is declared in the model file (src/providers/hooks/).
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { isIP } from 'node:net';
import type { Queryable, Statement } from '../database/database.ts';
import { createPoller } from '../database/poller.ts';
import { abortReason } from '../domain/waits.ts';
import { isTaskId } from '../domain/workflow-ids.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import { deriveUrlKeys } from '../objects/urls/url-keys.ts';
import type { UrlKeyOptions } from '../objects/urls/url-keys.ts';
import type { Logger } from '../telemetry/log.ts';

// Binds the derived key to this use: the same secret signs other things.
const PURPOSE = 'darkroom/provider-hook/v1';
const SECRET_PURPOSE = 'darkroom/provider-hook-secret/v1';
/** The length of the MAC in characters: 128 bits in base64url. */
const MAC_LENGTH = 22;
const TOKEN = /^(tk-svc-[0-9A-Z]{26})\.([A-Za-z0-9_-]{22})$/;

/**
 * The URLs that providers may call back: `{public URL}/hooks/{upstream}/{token}` (contract, "Conventions"). The token
 * is the task's id and an HMAC over it and the upstream's name, so that a forged one is detected without a query.
 */
export interface HookUrls {
  /**
   * The URL that an upstream can call back about a task.
   *
   * @param upstream its name and its base URL.
   * @param keyId names the key to sign with, if it is still accepted; default: that of new URLs.
   * @returns undefined if the upstream cannot be expected to reach us.
   */
  urlFor(
    upstream: { readonly name: string; readonly baseUrl?: string | undefined },
    taskId: TaskId,
    keyId?: string | null,
  ): string | undefined;
  /** The task that a token belongs to; undefined: we did not make it for that upstream. */
  taskOf(upstreamName: string, token: string): TaskId | undefined;
  /** The secret with which an upstream can sign its calls about a task. @param keyId as for the URL. */
  secretFor(upstreamName: string, taskId: TaskId, keyId?: string | null): string;
  /** The secrets that an upstream may have been given for a task. */
  secretsOf(upstreamName: string, taskId: TaskId): readonly string[];
}

interface HookUrlOptions extends UrlKeyOptions {
  /** Without a trailing slash. */
  readonly publicUrl: string;
}

/** @throws {RangeError} a signing key is too short. */
export function createHookUrls({ publicUrl, ...options }: HookUrlOptions): HookUrls {
  const keys = deriveUrlKeys(options, PURPOSE);
  const secretKeys = deriveUrlKeys(options, SECRET_PURPOSE);
  return {
    urlFor({ name, baseUrl }, taskId, keyId) {
      if (baseUrl === undefined || !canReach(new URL(baseUrl), new URL(publicUrl))) return undefined;
      return `${publicUrl}/hooks/${encodeURIComponent(name)}/${taskId}.${macOf(keys.find(keyId), name, taskId)}`;
    },
    taskOf(upstreamName, token) {
      const [, taskId = '', mac = ''] = TOKEN.exec(token) ?? [];
      if (!isTaskId(taskId)) return undefined;
      const given = Buffer.from(mac);
      const isOurs = keys.accepted.some((each) =>
        timingSafeEqual(given, Buffer.from(macOf(each, upstreamName, taskId))),
      );
      return isOurs ? taskId : undefined;
    },
    secretFor: (upstreamName, taskId, keyId) => secretOf(secretKeys.find(keyId), upstreamName, taskId),
    secretsOf: (upstreamName, taskId) => secretKeys.accepted.map((each) => secretOf(each, upstreamName, taskId)),
  };
}

function macOf(key: KeyObject, upstreamName: string, taskId: string): string {
  return secretOf(key, upstreamName, taskId).slice(0, MAC_LENGTH);
}

function secretOf(key: KeyObject, upstreamName: string, taskId: string): string {
  return createHmac('sha256', key).update(`${upstreamName}\n${taskId}`).digest('base64url');
}

/**
 * A public service accepts https addresses only, and an address on this machine's loopback can be reached from this
 * machine alone. An upstream that cannot reach us nevertheless does no harm: it is polled as usual.
 */
function canReach(upstream: URL, us: URL): boolean {
  if (us.protocol === 'http:' && upstream.protocol === 'https:') return false;
  return !isLoopback(us) || isLoopback(upstream);
}

function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'));
}

const record: Statement = {
  name: 'record_provider_hook',
  text: `INSERT INTO provider_hooks (task_id, upstream)
         SELECT id, $2 FROM tasks WHERE id = $1 AND completed_at IS NULL
         ON CONFLICT (task_id) DO UPDATE SET received = provider_hooks.received + 1, received_at = now()`,
};

/** Records that a provider has called back. Nothing is recorded for a task that has ended or does not exist. */
export async function recordProviderHook(database: Queryable, taskId: TaskId, upstream: string): Promise<void> {
  await database.query(record, [taskId, upstream]);
}

const selectCalled: Statement = {
  name: 'select_task_of_provider_hook',
  text: 'SELECT definition_hash AS "definitionHash", route FROM tasks WHERE id = $1',
};

/** What determines how the providers of a task call back. */
export interface CalledTask {
  readonly definitionHash: string;
  readonly route: string | null;
}

/** @returns undefined: there is no such task. */
export async function findCalledTask(database: Queryable, taskId: TaskId): Promise<CalledTask | undefined> {
  const [task] = await database.query<CalledTask>(selectCalled, [taskId]);
  return task;
}

const select: Statement = {
  name: 'select_provider_hooks',
  text: 'SELECT task_id AS "taskId", upstream, received FROM provider_hooks WHERE task_id = ANY ($1::text[])',
};

/** How often a provider has called back about a task. */
export interface ProviderHook {
  readonly taskId: TaskId;
  readonly upstream: string;
  readonly received: number;
}

/** Reads the webhooks of some tasks; tasks that have none are omitted. */
export function readProviderHooks(database: Queryable, taskIds: readonly TaskId[]): Promise<readonly ProviderHook[]> {
  return database.query<ProviderHook>(select, [taskIds]);
}

const forget: Statement = { name: 'forget_provider_hook', text: 'DELETE FROM provider_hooks WHERE task_id = $1' };

/** Called when nothing waits for the task's provider any more. */
export async function forgetProviderHook(database: Queryable, taskId: TaskId): Promise<void> {
  await database.query(forget, [taskId]);
}

const POLL_INTERVAL_MS = 1_000;
/** For how long after a webhook an upstream is expected to send more, in milliseconds. */
const HEARD_FOR_MS = 10 * 60_000;

/**
 * Wakes the tasks that wait for a provider when that provider calls back. One poller for each process, which runs only
 * while a task waits: webhooks arrive at any API process, and this one is a worker's. One statement a second, whatever
 * the number of waiting tasks.
 */
export interface HookFeed {
  /**
   * Waits, for `waitMs` at most, for a webhook that has not been seen.
   *
   * @param seen how many webhooks of the task were seen; 0 at first, so that an early one wakes at once.
   * @returns how many have arrived by now.
   * @throws the signal's reason.
   */
  wait(taskId: TaskId, seen: number, waitMs: number, signal: AbortSignal): Promise<number>;
  /** Whether webhooks of this upstream are known to arrive. */
  isHeard(upstreamName: string): boolean;
}

interface Waiter {
  readonly seen: number;
  wake(received: number): void;
}

export function createHookFeed({
  database,
  logger,
  now = Date.now,
}: {
  readonly database: Queryable;
  readonly logger: Logger;
  readonly now?: () => number;
}): HookFeed {
  const waiters = new Map<TaskId, Set<Waiter>>();
  const heardAt = new Map<string, number>();

  const poll = async (): Promise<void> => {
    if (waiters.size === 0) return;
    const hooks = await readProviderHooks(database, [...waiters.keys()]);
    for (const { taskId, upstream, received } of hooks) {
      for (const waiter of waiters.get(taskId) ?? []) {
        if (received <= waiter.seen) continue;
        heardAt.set(upstream, now());
        waiter.wake(received);
      }
    }
  };

  // A task that waits is woken by its timer too, if polls fail.
  const poller = createPoller({
    what: 'the hooks of providers',
    poll,
    isNeeded: () => waiters.size > 0,
    waitMs: () => POLL_INTERVAL_MS,
    logger,
  });

  return {
    isHeard: (upstreamName) => now() - (heardAt.get(upstreamName) ?? -Infinity) < HEARD_FOR_MS,

    wait: (taskId, seen, waitMs, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(abortReason(signal));
        const others = waiters.get(taskId) ?? new Set<Waiter>();
        const end = (settle: () => void): void => {
          clearTimeout(alarm);
          signal.removeEventListener('abort', onAbort);
          others.delete(waiter);
          if (others.size === 0) waiters.delete(taskId);
          settle();
        };
        const waiter: Waiter = { seen, wake: (received) => end(() => resolve(received)) };
        const onAbort = (): void => end(() => reject(abortReason(signal)));
        const alarm = setTimeout(() => end(() => resolve(seen)), waitMs);
        signal.addEventListener('abort', onAbort);
        others.add(waiter);
        waiters.set(taskId, others);
        poller.schedule();
      }),
  };
}
