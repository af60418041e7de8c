/** `admin keys`: the API keys of accounts. A key is shown once, when it is created. */
import { SCOPES } from '../../accounts/api-key.ts';
import { ROTATION_OVERLAP_SECONDS, createKey, listKeys, revokeKey, rotateKey } from '../../accounts/keys.ts';
import type { SpendCaps } from '../../accounts/keys.ts';
import { readCapSpending } from '../../billing/key-spending.ts';
import { findUnknownModels } from '../../catalogue/known-models.ts';
import { readDatabaseTime } from '../../database/database-clock.ts';
import type { Queryable } from '../../database/database.ts';
import { AdminError } from './admin-error.ts';
import { ACCOUNT, listOf, onlyAccount, readAmount, readExpiry, readName, readWhole } from './arguments.ts';
import type { Group } from './arguments.ts';
import type { OnInstallation } from './installation.ts';
import { presentKey } from './print.ts';

const KEY = { type: 'string', demandOption: true } as const;
const MAX_MODELS = 100;

export function keyCommands(group: Group, onInstallation: OnInstallation) {
  return group
    .command(
      'create',
      'create a key; it is shown once',
      (y) =>
        y
          .option('account', ACCOUNT)
          .option('name', { type: 'string', default: 'key', describe: 'what to call it' })
          .option('scopes', { ...listOf(SCOPES), describe: 'default: all' })
          .option('models', { ...listOf(), describe: 'models it may use, without routes; default: all' })
          .option('expires', { type: 'string', describe: '2027-01-31, 2027-01-31T12:00:00Z or 30d; default: never' })
          .option('cap-day', { type: 'string', describe: 'decimal USD that may be spent with it per UTC day' })
          .option('cap-total', { type: 'string', describe: 'decimal USD that may be spent with it altogether' }),
      onInstallation(async ({ account, name, scopes, models, expires, capDay, capTotal }, { database }) => {
        if (scopes?.length === 0) throw new AdminError(`--scopes: name at least one of ${SCOPES.join(', ')}`);
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
        return { account: accountId, keyId: key.id, apiKey: key.text };
      }),
    )
    .command(
      'list',
      'list the keys of an account',
      (y) => y.option('account', ACCOUNT),
      onInstallation(async ({ account }, { database }) => {
        const keys = await listKeys(database, await onlyAccount(database, account));
        const capIds = keys.flatMap(({ spendCapId }) => spendCapId ?? []);
        const spending = await readCapSpending(database, [...new Set(capIds)], await readDatabaseTime(database));
        return keys.map((key) => presentKey(key, spending));
      }),
    )
    .command(
      'rotate <key>',
      'replace a key by one with the same rights, which is shown once; both work for a while',
      (y) =>
        y.positional('key', KEY).option('overlap', {
          type: 'number',
          default: ROTATION_OVERLAP_SECONDS.default,
          describe: 'seconds that the old one works beside the new one; 0: it stops at once',
        }),
      onInstallation(async ({ key, overlap }, { database }) => {
        const overlapSeconds = readWhole('overlap', overlap, 0, ROTATION_OVERLAP_SECONDS.maximum);
        const now = await readDatabaseTime(database);
        const made = await database.transaction((transaction) => rotateKey(transaction, key, { now, overlapSeconds }));
        return { keyId: made.id, apiKey: made.text, replaces: key };
      }),
    )
    .command(
      'revoke <key>',
      'revoke a key for ever, by its id',
      (y) => y.positional('key', KEY),
      onInstallation(async ({ key }, { database }) => {
        if (!(await revokeKey(database, key))) throw new AdminError(`no key ${key}`);
        return { keyId: key, revoked: true };
      }),
    )
    .demandCommand(1, 'name a command of keys');
}

async function readModels(database: Queryable, models: readonly string[]): Promise<readonly string[]> {
  const names = [...new Set(models)];
  if (names.length === 0 || names.length > MAX_MODELS) {
    throw new AdminError(`--models: want 1 to ${MAX_MODELS} names of models`);
  }
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
