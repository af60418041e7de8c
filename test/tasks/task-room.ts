/**
 * The task room on a real database, without HTTP and without Temporal: tasks are created, claimed, cancelled and
 * settled by the functions that the processes call. Every statement is counted.
 */
import { createAccount, readAccount } from '../../src/accounts/accounts.ts';
import type { Account } from '../../src/accounts/accounts.ts';
import { createKey } from '../../src/accounts/keys.ts';
import { SCOPES } from '@darkroom/api/facts/scopes';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { topUp } from '../../src/billing/ledger.ts';
import { createCatalogue } from '../../src/catalogue/catalogue.ts';
import type { Catalogue } from '../../src/catalogue/catalogue.ts';
import type { CatalogueModel } from '../../src/catalogue/text-definition.ts';
import { compileParse } from '../../src/schema/schema-validation.ts';
import type { Database } from '../../src/database/database.ts';
import { readInstallationId } from '../../src/database/migrate.ts';
import { newId } from '../../src/domain/ids.ts';
import { parseAllowList } from '../../src/egress/operator-lists.ts';
import { createTaskCreator } from '../../src/tasks/create/create.ts';
import type { CreateDependencies, TaskCreator } from '../../src/tasks/create/create.ts';
import { claimOutbox, removeOutbox } from '../../src/tasks/outbox/outbox.ts';
import { createUrlSigner } from '../../src/objects/urls/signed-url.ts';
import { CreateTaskSchema } from '@darkroom/api/tasks/create-task';
import {
  compatibleDefinition,
  compatibleEditDefinition,
  compatibleRetouchDefinition,
  compatibleSpeechDefinition,
  compatibleTranscriptionDefinition,
  compatibleVideoDefinition,
  definition,
  definitionWithRoutes,
  textDefinition,
} from '../catalogue/definitions.ts';
import { createTestDatabase } from '../support/test-database.ts';

/** The price of one task of the test model, in micro-USD. */
export const PRICE = 10_000n;

export interface TaskRoom {
  readonly database: Database;
  /** The same past a pooler (test-database.ts). */
  readonly direct: Database;
  /** The URL of the database, for other processes. */
  readonly url: string;
  readonly creator: TaskCreator;
  /** The dependencies that it was created with. */
  readonly creatorDependencies: CreateDependencies;
  readonly catalogue: Catalogue;
  readonly installationId: string;
  /** The statements sent since the last call of `forgetStatements`. */
  readonly statements: readonly string[];
  forgetStatements(): void;
  /** An account of its own for one test. */
  newCaller(options?: {
    microUsd?: bigint;
    runningCap?: number;
    queueCap?: number;
    textStreamsCap?: number;
    /** The account in whose organisation it is created, and whose wallet it shares. */
    sharesWalletOf?: Caller;
  }): Promise<Caller>;
  account(caller: Caller): Promise<Account>;
  /** Rows of a statement that only tests need. */
  rows<Row = Record<string, unknown>>(text: string, ...values: unknown[]): Promise<readonly Row[]>;
  close(): Promise<void>;
}

/** A body that the test model accepts. */
export function body(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return { model: 'acme/images', input: { prompt: 'a fox' }, ...changes };
}

/** Claims what is due, and removes it, as if Temporal had it. */
export async function deliverOutbox({ database }: TaskRoom, limit = 1_000): Promise<void> {
  const items = await claimOutbox(database, limit);
  await removeOutbox(
    database,
    items.map(({ id }) => id),
  );
}

/** What a test adds to the catalogue. */
export interface CatalogueOptions {
  readonly models?: readonly CatalogueModel[] | undefined;
  /** The clock for the retirement of models, in milliseconds since 1970; default: the machine's. */
  readonly now?: (() => number) | undefined;
  /** Called with the name of every statement, where it is sent. */
  readonly onStatement?: (name: string) => void;
}

/** @param creatorDatabase a different database for the creator alone: one that cannot be reached. */
export async function openTaskRoom(
  creatorDatabase?: Database,
  { models = [], now = Date.now, onStatement }: CatalogueOptions = {},
): Promise<TaskRoom> {
  const statements: string[] = [];
  const testDatabase = await createTestDatabase((name) => {
    statements.push(name);
    onStatement?.(name);
  });
  const { database, direct } = testDatabase;
  const catalogue = createCatalogue(
    [
      definition(),
      { ...definitionWithRoutes('fast'), name: 'acme/routed' },
      definition({ name: 'acme/free', pricing: { unit: 'image', usd: '0' } }),
      compatibleDefinition(),
      compatibleEditDefinition(),
      compatibleRetouchDefinition(),
      compatibleSpeechDefinition(),
      compatibleTranscriptionDefinition(),
      compatibleVideoDefinition(),
      textDefinition(),
      ...models,
    ],
    now,
  );
  const installationId = await readInstallationId(database);
  const creatorDependencies: CreateDependencies = {
    database: creatorDatabase ?? database,
    catalogue,
    installationId,
    egressPolicy: { allow: parseAllowList([]), ports: [443] },
    urlSigner: createUrlSigner({
      publicUrl: 'http://127.0.0.1',
      signingKey: 'a signing key of at least 32 characters',
      lifetimeSeconds: 1800,
    }),
    parseBody: compileParse(CreateTaskSchema, 'invalid request'),
  };
  const creator = createTaskCreator(creatorDependencies);
  let testStatements = 0;
  return {
    database,
    direct,
    url: testDatabase.url,
    creator,
    creatorDependencies,
    catalogue,
    installationId,
    statements,
    forgetStatements: () => statements.splice(0),
    newCaller: ({
      sharesWalletOf,
      microUsd = sharesWalletOf === undefined ? 1_000_000_000n : 0n,
      runningCap = 100,
      queueCap = 1_000,
      textStreamsCap = 100,
    } = {}) =>
      database.transaction(async (transaction) => {
        const limits = { runningCap, queueCap, textStreamsCap };
        const accountId = await createAccount(transaction, 'test', limits, sharesWalletOf?.accountId);
        if (microUsd > 0n) await topUp(transaction, accountId, microUsd, newId('topup'));
        const key = await createKey(transaction, accountId, { name: 'test', scopes: SCOPES });
        return {
          accountId,
          keyId: key.id,
          scopes: new Set(SCOPES),
          models: undefined,
          expiresAt: undefined,
          spendCapIds: [],
          failingReceivers: 0,
          createsPerMinute: 60,
          readsPerMinute: 1_200,
          textRequestsPerMinute: 600,
          textTokensPerMinute: 1_000_000,
        };
      }),
    account: (caller) => readAccount(database, caller.accountId),
    rows: (text, ...values) => direct.query({ name: `of_a_test_${testStatements++}`, text }, values),
    close: () => testDatabase.close(),
  };
}
