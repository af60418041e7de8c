/**
 * The public application on a random port, in this process: the real app, database and store, without Temporal.
 * Notifications of the launcher are counted.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { mkdtemp, rm } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { createAccount } from '../../src/accounts/accounts.ts';
import type { AccountLimits } from '../../src/accounts/accounts.ts';
import { createKey } from '../../src/accounts/keys.ts';
import type { KeyRights } from '../../src/accounts/keys.ts';
import { SCOPES } from '@darkroom/api/facts/scopes';
import { createSecretCipher } from '../../src/accounts/secret-cipher.ts';
import { createCredentialProbes } from '../../src/providers/credential-probes.ts';
import { createUpstreamSettings } from '../../src/upstreams/upstream-settings.ts';
import { createWebhookKeys } from '../../src/accounts/webhook-key.ts';
import { topUp } from '../../src/billing/ledger.ts';
import type { CatalogueModel } from '../../src/catalogue/text-definition.ts';
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import { loadConfig } from '../../src/config/config.ts';
import { openDatabase } from '../../src/database/database.ts';
import type { Database } from '../../src/database/database.ts';
import { newId } from '../../src/domain/ids.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { parseAllowList } from '../../src/egress/operator-lists.ts';
import { createEgress } from '../../src/egress/guarded-client.ts';
import { createClaimedStore } from '../../src/objects/stores/claimed-store.ts';
import { openStore } from '../../src/objects/stores/open-store.ts';
import type { ObjectStore } from '../../src/objects/stores/object-store.ts';
import { FILE_MS, createMediaInspector } from '@darkroom/media/inspect';
import { timeOutMs } from '../../src/config/time-outs.ts';
import { createInspectionTurns } from '../../src/limits/media-turns.ts';
import { createUrlSigner } from '../../src/objects/urls/signed-url.ts';
import type { HttpContext } from '../../src/http/app/context.ts';
import { REQUESTS_WAIT, createAccountDatabase, createStalledRows } from '../../src/limits/row-databases.ts';
import { createApp } from '../../src/http/app/app.ts';
import { listen } from '../../src/http/app/server.ts';
import type { ListenOptions } from '../../src/http/app/server.ts';
import type { UploadBounds } from '../../src/http/bodies/upload-line.ts';
import type { Foundation } from '../../src/processes/foundation.ts';
import { createHttpContext } from '../../src/processes/http-context.ts';
import { openTextParts } from '../../src/processes/text-parts.ts';
import type { TextParts } from '../../src/processes/text-parts.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import type { Logger } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { NO_TRACES } from '../../src/telemetry/tracing.ts';
import { ApiClient } from '../support/api-client.ts';
import { movedClock } from '../support/moved-clock.ts';
import { openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

export const SIGNING_KEY = 'a signing key of at least 32 characters';

/** Limits that only the tests of limits reach. */
export const TEST_LIMITS = {
  runningCap: 1_000,
  queueCap: 10_000,
  createsPerMinute: 1_000_000,
  readsPerMinute: 1_000_000,
  textRequestsPerMinute: 1_000_000,
  textTokensPerMinute: 1_000_000_000,
  textStreamsCap: 1_000,
};

export interface ServedAccount {
  readonly id: string;
  readonly client: ApiClient;
  /** Another key of the same account. */
  newKey(rights?: Partial<KeyRights>): Promise<{ readonly id: string; readonly client: ApiClient }>;
}

export interface ServedApp {
  readonly url: string;
  readonly room: TaskRoom;
  /** What the app was given. */
  readonly http: HttpContext;
  readonly store: ObjectStore;
  readonly text: Pick<TextParts, 'ledger'>;
  /** How often the launcher was woken, and which tasks were offered for repair. */
  readonly notified: { wakes: number; readonly considered: string[] };
  /** The statements sent for requests to this path, without what the app sends on timers meanwhile. */
  statementsOf(path: string): readonly string[];
  newAccount(options?: { microUsd?: bigint } & Partial<AccountLimits>): Promise<ServedAccount>;
  /** Ends a task as a worker would, with these bytes as its one output. */
  succeed(taskId: string, bytes: Buffer, mimeType?: string): Promise<void>;
  /** The same with several outputs, each with the size in its record. */
  succeedWith(taskId: string, made: readonly MadeOutput[]): Promise<void>;
  close(): Promise<void>;
}

/** An output of a task. */
export interface MadeOutput {
  readonly type: string;
  readonly bytes: Buffer;
  readonly mimeType: string;
  readonly width?: number;
  readonly height?: number;
  readonly durationSeconds?: number;
}

export interface ServeOptions {
  /** Additional environment that the configuration is read from. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The clock of the app, in milliseconds since 1970; default: the machine's. */
  readonly now?: () => number;
  /** Models in addition to those of the task room. */
  readonly models?: readonly CatalogueModel[];
  /** A different database for the app alone. */
  readonly appDatabase?: Database;
  /** As the process passes it to the app, which listens for the shutdown. */
  readonly stopSignal?: AbortSignal;
  /** Other limits of the listener. */
  readonly listening?: Partial<ListenOptions>;
  readonly uploadBounds?: Partial<UploadBounds>;
  /** How long a streamed media call waits before it sends its head. */
  readonly streamHeadMs?: number;
  /** Of the app; default: none. */
  readonly logger?: Logger;
  /** Whether only HTTPS through a trusted proxy is accepted. */
  readonly requiresHttps?: boolean;
}

/** A database behind a port that nothing listens on. */
export function unreachableDatabase(): Database {
  return openDatabase({ url: 'postgres://nobody@127.0.0.1:1/none', poolSize: 2 }, silentLogger());
}

export async function serveApp(options: ServeOptions = {}): Promise<ServedApp> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-http-'));
  const servedPath = new AsyncLocalStorage<string>();
  const statements: { readonly path: string | undefined; readonly name: string }[] = [];
  const room = await openTaskRoom(options.appDatabase, {
    models: options.models,
    now: options.now,
    onStatement: (name) => statements.push({ path: servedPath.getStore(), name }),
  });
  const { database } = room;
  const loaded = loadConfig({
    DATABASE_URL: 'postgres://not-used',
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    STORE_URL: `file://${directory}`,
    URL_SIGNING_KEY: SIGNING_KEY,
    ENCRYPTION_KEY: SIGNING_KEY,
    PORT: '0',
    PUBLIC_URL: options.environment?.['TLS_CERT_FILE'] === undefined ? 'http://127.0.0.1' : 'https://127.0.0.1',
    ...options.environment,
  });
  const config = { ...loaded, http: { ...loaded.http, requiresHttps: options.requiresHttps ?? false } };
  const store = await openStore(config.store);
  const notified = { wakes: 0, considered: [] as string[] };

  let handle: RequestListener = () => {};
  const server = await listen(config.http, (request, response) => handle(request, response), {
    logger: silentLogger(),
    ...options.listening,
  });
  const appDatabase = options.appDatabase ?? database;
  const egressPolicy = { allow: parseAllowList(config.egress.allow), ports: config.egress.ports };
  const egress = createEgress({ ...egressPolicy, logger: silentLogger() });
  const inspector = createMediaInspector({ turns: createInspectionTurns(), fileMs: timeOutMs(FILE_MS) });
  const clock = { now: options.now ?? Date.now };
  const upstreamSettings = createUpstreamSettings({
    environment: config.upstreams,
    database: appDatabase,
    cipher: createSecretCipher(SIGNING_KEY),
    logger: silentLogger(),
  });
  const credentialProbes = createCredentialProbes({
    database: appDatabase,
    settings: upstreamSettings,
    encryptionKey: SIGNING_KEY,
    logger: silentLogger(),
  });
  const foundation: Foundation = {
    config,
    logger: options.logger ?? silentLogger(),
    metrics: createMetrics(),
    database: appDatabase,
    accountDatabase: createAccountDatabase(appDatabase, config.database.poolSize, REQUESTS_WAIT),
    stalledAccounts: createStalledRows(),
    store,
    storeClaim: createClaimedStore({ database: appDatabase, store, logger: silentLogger() }).claim,
    urlSigner: createUrlSigner({
      publicUrl: server.url,
      signingKey: SIGNING_KEY,
      lifetimeSeconds: 1800,
      now: () => clock.now(),
    }),
    definitions: createPinnedDefinitions(appDatabase),
    webhookKeys: createWebhookKeys(SIGNING_KEY),
    upstreamSettings,
    credentialProbes,
    egressPolicy,
    egress,
    inspector,
    tracing: NO_TRACES,
    clock: movedClock(() => clock.now()),
    now: () => clock.now(),
    async close() {
      await credentialProbes.close();
      await upstreamSettings.close();
      await inspector.close();
      await egress.close();
    },
  };
  await createPinnedDefinitions(database).pin(room.catalogue.models);
  // The ledger stays there when the app's own database is unavailable.
  const { accountDatabase, metrics, now } = foundation;
  const text = await openTextParts(
    { config, database, accountDatabase, logger: silentLogger(), metrics, now, upstreamSettings },
    (step) => step(),
  );
  const http = createHttpContext(
    foundation,
    room.catalogue,
    {
      wakeLauncher: () => {
        notified.wakes += 1;
      },
      wakeDueWork: () => {},
      considerRepair: (task) => {
        notified.considered.push(task.id);
      },
      mayClaim: () => false,
      isReady: () => true,
      stopSignal: options.stopSignal ?? new AbortController().signal,
      // The real metrics differ from read to read (test/e2e/metrics.test.ts).
      renderMetrics: () => Promise.resolve('darkroom_database_up 1\n'),
      ...(options.uploadBounds === undefined ? {} : { uploadBounds: options.uploadBounds }),
      streamHeadMs: options.streamHeadMs,
      rateClock: { now: () => clock.now(), bucketNow: () => clock.now() },
    },
    room.installationId,
    text,
  );
  const app = createApp(http);
  const callback = app.callback();
  handle = (request, response) => servedPath.run(request.url ?? '', () => void callback(request, response));

  const served: ServedApp = {
    url: server.url,
    room,
    http,
    store,
    text,
    notified,
    statementsOf: (requested) =>
      statements.filter(({ path: sentFor }) => sentFor === requested).map(({ name }) => name),
    async newAccount({ microUsd = 1_000_000_000n, ...limits } = {}) {
      const id = await database.transaction(async (transaction) => {
        const accountId = await createAccount(transaction, 'test', { ...TEST_LIMITS, ...limits });
        if (microUsd > 0n) await topUp(transaction, accountId, microUsd, newId('topup'));
        return accountId;
      });
      const newKey: ServedAccount['newKey'] = async (rights = {}) => {
        const key = await createKey(database, id, { name: 'test', scopes: SCOPES, ...rights });
        return { id: key.id, client: new ApiClient([server.url], key.secret) };
      };
      return { id, client: (await newKey()).client, newKey };
    },
    succeed: (taskId, bytes, mimeType = 'image/png') =>
      served.succeedWith(taskId, [{ type: 'image', bytes, mimeType, width: 2, height: 1 }]),
    async succeedWith(taskId, made) {
      const outputs = await Promise.all(
        made.map(async ({ bytes, ...facts }, index) => {
          const objectKey = `outputs/${taskId}/${index + 1}`;
          return { ...facts, objectKey, ...(await store.put(objectKey, bytes, { mimeType: facts.mimeType })) };
        }),
      );
      await claimOutbox(database, 1_000);
      const verdict = { status: 'success', outputs, capturedMicroUsd: 10_000n } as const;
      await settleTask(database, taskId as TaskId, verdict, { retentionDays: 7 });
    },
    async close() {
      http.feed.close();
      http.backgroundFeed.close();
      await server.close(1_000);
      await http.keyUse.flush();
      await http.bodyThreads.close();
      await text.close();
      await foundation.close();
      await store.close();
      await options.appDatabase?.close();
      await room.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
  return served;
}
