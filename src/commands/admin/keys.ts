/**
 * `admin keys`, `admin sign-in-link` and `admin webhook-key`: the secrets of an account. An API key is shown once, when
 * it is created.
 */
import { Option } from '@commander-js/extra-typings';
import { SCOPES } from '@darkroom/api/facts/scopes';
import { ROTATION_OVERLAP_SECONDS, WEBHOOK_SECRET_LENGTH } from '@darkroom/api/facts/limits';
import { createKey, listKeys, readKey, revokeKey, rotateKey } from '../../accounts/keys.ts';
import type { KeyListing, SpendCaps } from '../../accounts/keys.ts';
import { SIGN_IN_LINK_SECONDS, createSignInLink, dashboardKey, signInUrl } from '../../accounts/sessions.ts';
import { createWebhookKeys } from '../../accounts/webhook-key.ts';
import type { WebhookKeys } from '../../accounts/webhook-key.ts';
import { readCapSpending } from '../../billing/spend-caps.ts';
import type { CapSpending } from '../../billing/spend-caps.ts';
import { newWebhookSecret, toWhsec } from '../../callbacks/signing.ts';
import { findUnknownModels } from '../../catalogue/pinned-definitions.ts';
import { loadEncryptionKeys, loadPublicUrl } from '../../config/config.ts';
import { readDatabaseTime } from '../../database/database-clock.ts';
import type { Queryable } from '../../database/database.ts';
import { formatUsd } from '../../domain/money.ts';
import { listOf, listOption, wholeNumber } from '../command-line.ts';
import { AdminError } from './admin-error.ts';
import { ACCOUNT, onlyAccount, readAmount, readExpiry, readName } from './arguments.ts';
import type { Group } from './arguments.ts';
import type { OnInstallation, OpenInstallation } from './installation.ts';

const MAX_MODELS = 100;

export function keyCommands(group: Group, onInstallation: OnInstallation): void {
  group
    .command('create')
    .description('create a key; it is shown once')
    .option(...ACCOUNT)
    .option('--name <name>', 'name of the key', 'key')
    .addOption(listOption('--scopes <scopes...>', 'default: all', SCOPES))
    .option('--models <models...>', 'models it may use, without routes; default: all', listOf)
    .option('--expires <time>', '2027-01-31, 2027-01-31T12:00:00Z or 30d; default: never')
    .option('--cap-day <amount>', 'decimal USD that may be spent with it per UTC day')
    .option('--cap-total <amount>', 'decimal USD that may be spent with it in total')
    .action(
      onInstallation(async ({ database }, { account, name, scopes, models, expires, capDay, capTotal }) => {
        const rights = {
          name: readName(name),
          scopes: scopes ?? SCOPES,
          ...(models === undefined ? {} : { models: await readModels(database, models) }),
          ...(expires === undefined
            ? {}
            : { expiresAt: readExpiry('expires', expires, await readDatabaseTime(database)) }),
          spendCaps: readCaps(capDay, capTotal),
        };
        const accountId = await onlyAccount(database, account);
        const key = await createKey(database, accountId, rights);
        return { account: accountId, keyId: key.id, apiKey: key.secret };
      }),
    );
  group
    .command('list')
    .description('list the keys of an account')
    .option(...ACCOUNT)
    .action(
      onInstallation(async ({ database }, { account }) => {
        const keys = await listKeys(database, await onlyAccount(database, account));
        const capIds = keys.flatMap(({ spendCapId }) => spendCapId ?? []);
        const spending = await readCapSpending(database, [...new Set(capIds)], await readDatabaseTime(database));
        return keys.map((key) => presentKey(key, spending));
      }),
    );
  group
    .command('rotate')
    .description('replace a key by one with the same rights, which is shown once; both work for a while')
    .argument('<key>')
    .option(
      '--overlap <seconds>',
      'seconds that the old one works beside the new one; 0: it stops at once',
      wholeNumber(0, ROTATION_OVERLAP_SECONDS.maximum),
      ROTATION_OVERLAP_SECONDS.default,
    )
    .action(
      onInstallation(async ({ database }, key, { overlap }) => {
        const now = await readDatabaseTime(database);
        const made = await database.transaction((transaction) =>
          rotateKey(transaction, key, { now, overlapSeconds: overlap }),
        );
        return { keyId: made.id, apiKey: made.secret, replaces: key };
      }),
    );
  group
    .command('revoke')
    .description('revoke a key permanently, by its id')
    .argument('<key>')
    .action(
      onInstallation(async ({ database }, key) => {
        if (!(await revokeKey(database, key))) throw new AdminError(`no key ${key}`);
        return { keyId: key, revoked: true };
      }),
    );
}

async function readModels(database: Queryable, models: readonly string[]): Promise<readonly string[]> {
  const names = [...new Set(models)];
  if (names.length > MAX_MODELS) throw new AdminError(`--models: want at most ${MAX_MODELS} names of models`);
  const [unknown] = await findUnknownModels(database, names);
  if (unknown !== undefined) {
    throw new AdminError(`--models: "${unknown}" is not the name of a model without its route`);
  }
  return names;
}

function readCaps(day: string | undefined, total: string | undefined): SpendCaps {
  return {
    dayMicroUsd: day === undefined ? undefined : readAmount('cap-day', day),
    totalMicroUsd: total === undefined ? undefined : readAmount('cap-total', total),
  };
}

/** @param spending by cap id. */
function presentKey(key: KeyListing, spending: ReadonlyMap<string, CapSpending>): Record<string, unknown> {
  const spent = key.spendCapId === undefined ? undefined : spending.get(key.spendCapId);
  const capOf = (cap: bigint | undefined, used: bigint | undefined): object | null =>
    cap === undefined ? null : { usd: formatUsd(cap), spent: formatUsd(used ?? 0n) };
  return {
    keyId: key.id,
    name: key.name,
    scopes: key.scopes,
    models: key.models ?? null,
    capDay: capOf(key.spendCaps?.dayMicroUsd, spent?.dayMicroUsd),
    capTotal: capOf(key.spendCaps?.totalMicroUsd, spent?.totalMicroUsd),
    created: key.createdAt.toISOString(),
    lastUsed: key.lastUsedAt?.toISOString() ?? null,
    expires: key.expiresAt?.toISOString() ?? null,
    replacedBy: key.replacedBy ?? null,
    revoked: key.revokedAt?.toISOString() ?? null,
  };
}

export function signInLinkCommand(command: Group, onInstallation: OnInstallation): void {
  command
    .summary('a link to the dashboard')
    .description(`make a link to the dashboard; it works once, within ${SIGN_IN_LINK_SECONDS / 60} minutes`)
    .option(...ACCOUNT)
    .addOption(
      new Option(
        '--key <key>',
        'the id of the key whose rights the session has; default: the widest of the account',
      ).conflicts('account'),
    )
    .action(
      onInstallation(async ({ database, environment }, { account, key }) => {
        const publicUrl = loadPublicUrl(environment);
        const now = await readDatabaseTime(database);
        return database.transaction(async (transaction) => {
          const keyId =
            key === undefined
              ? await dashboardKey(transaction, await onlyAccount(transaction, account), now)
              : await requireUsable(transaction, key, now);
          const link = await createSignInLink(transaction, keyId, now);
          return { key: keyId, url: signInUrl(publicUrl, link.secret), until: link.expiresAt.toISOString() };
        });
      }),
    );
}

/** @throws {AdminError} a session of this key would be rejected. */
async function requireUsable(database: Queryable, keyId: string, now: number): Promise<string> {
  const { scopes, revokedAt, expiresAt } = await readKey(database, keyId);
  if (revokedAt !== undefined) throw new AdminError(`${keyId} is revoked`);
  if (expiresAt !== undefined && expiresAt.getTime() <= now) throw new AdminError(`${keyId} has expired`);
  if (!scopes.includes('dashboard')) throw new AdminError(`${keyId} lacks the scope dashboard`);
  return keyId;
}

/** The secret that signs an account's callbacks (contract §6). */
export function webhookKeyCommands(group: Group, onInstallation: OnInstallation): void {
  group
    .command('show')
    .description('show the active signing secrets, the current one first')
    .option(...ACCOUNT)
    .action(
      onInstallation(async (installation, { account }) => {
        const accountId = await onlyAccount(installation.database, account);
        const now = await readDatabaseTime(installation.database);
        const secrets = await webhookKeysOf(installation).activeSecrets(installation.database, accountId, now);
        if (secrets.length === 0) return { account: accountId, secret: 'none: callbacks are not signed' };
        return secrets.map((secret) => ({ account: accountId, secret, whsec: toWhsec(secret) }));
      }),
    );
  group
    .command('set')
    .description('set your own signing secret; the old one also signs for 24 h')
    .option(...ACCOUNT)
    .requiredOption('--secret <secret>', '16 to 256 characters')
    .action(onInstallation((installation, { account, secret }) => replaceSecret(installation, account, secret)));
  group
    .command('rotate')
    .description('create a new signing secret; the old one also signs for 24 h')
    .option(...ACCOUNT)
    .action(onInstallation((installation, { account }) => replaceSecret(installation, account, newWebhookSecret())));
  group
    .command('delete')
    .description('delete the signing secret and the previous one at once; callbacks are no longer signed')
    .option(...ACCOUNT)
    .action(
      onInstallation(async (installation, { account }) => {
        const { database } = installation;
        const accountId = await onlyAccount(database, account);
        await database.transaction((transaction) => webhookKeysOf(installation).remove(transaction, accountId));
        return { account: accountId, deleted: true };
      }),
    );
}

function webhookKeysOf({ environment }: OpenInstallation): WebhookKeys {
  return createWebhookKeys(...loadEncryptionKeys(environment));
}

async function replaceSecret(
  installation: OpenInstallation,
  account: string | undefined,
  secret: string,
): Promise<unknown> {
  const { minimum, maximum } = WEBHOOK_SECRET_LENGTH;
  const { length } = [...secret];
  if (length < minimum || length > maximum) {
    throw new AdminError(`--secret: want ${minimum} to ${maximum} characters, got ${length}`);
  }
  const { database } = installation;
  const accountId = await onlyAccount(database, account);
  const now = await readDatabaseTime(database);
  await database.transaction((transaction) => webhookKeysOf(installation).replace(transaction, accountId, secret, now));
  return { account: accountId, secret, whsec: toWhsec(secret) };
}
