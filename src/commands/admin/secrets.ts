/**
 * `admin secrets`: rotating `ENCRYPTION_KEY` and `URL_SIGNING_KEY` (docs/operations/secure.md, "Rotating the keys"). `status` and
 * `reencrypt` work on any installation; `rotate` and `forget` on the `secrets.json` of `npm start`.
 */
import { createSecretCipher } from '../../accounts/secret-cipher.ts';
import { countSecrets, reencryptSecrets } from '../../accounts/stored-secrets.ts';
import type { SecretCounts } from '../../accounts/stored-secrets.ts';
import { adminCommand, loadEncryptionKeys, loadUrlRotation } from '../../config/config.ts';
import { openDatabase } from '../../database/database.ts';
import { ROUNDING_SECONDS } from '../../objects/urls/signed-url.ts';
import { urlKeyId } from '../../objects/urls/url-keys.ts';
import { resolveDataDirectory } from '../../standalone/data-directory.ts';
import { readInstance } from '../../standalone/instance.ts';
import type { Instance } from '../../standalone/instance.ts';
import { deleteFallbacks, readSecrets, rotateSecrets } from '../../standalone/secrets.ts';
import { readUrlKeyUse } from '../../tasks/record/url-key-use.ts';
import type { UrlKeyUse } from '../../tasks/record/url-key-use.ts';
import { silentLogger } from '../../telemetry/log.ts';
import { wholeNumber } from '../command-line.ts';
import { AdminError } from './admin-error.ts';
import type { Group } from './arguments.ts';
import { print } from './installation.ts';
import type { OnInstallation, OpenInstallation } from './installation.ts';

const BATCH_SIZE = 500;
const MAX_BATCH_SIZE = 10_000;
/**
 * Processes that still have the old key may encrypt with it between two passes; if this many passes do not suffice, no
 * number will.
 */
const MOST_PASSES = 10;

export function secretCommands(group: Group, onInstallation: OnInstallation, environment: NodeJS.ProcessEnv): void {
  group
    .command('status')
    .description('count stored secrets by the key that decrypts them, and show which fallbacks can be removed')
    .action(onInstallation(async (installation) => report(installation)));
  group
    .command('reencrypt')
    .description(
      'encrypt with ENCRYPTION_KEY what one of ENCRYPTION_KEY_FALLBACKS decrypts; may be interrupted and repeated',
    )
    .option('--batch-size <number>', 'secrets that are read at a time', wholeNumber(1, MAX_BATCH_SIZE), BATCH_SIZE)
    .action(
      onInstallation(async (installation, { batchSize }) => {
        const { database } = installation;
        const cipher = createSecretCipher(...loadEncryptionKeys(installation.environment));
        let reencrypted = 0;
        for (let pass = 1; pass <= MOST_PASSES; pass++) {
          const changed = await reencryptSecrets(database, cipher, batchSize, (progress) => {
            process.stderr.write(`pass ${pass}: ${progress.seen} read, ${progress.reencrypted} encrypted anew\n`);
          });
          reencrypted += changed;
          if (changed === 0) break;
        }
        return { reencrypted, ...(await report(installation)) };
      }),
    );
  group
    .command('rotate')
    .description('make new keys in the secrets.json of npm start, and keep the old ones as fallbacks; restart it then')
    .action(async (_options, command) => {
      const { json, dataDir } = command.optsWithGlobals();
      const directory = resolveDataDirectory(dataDir, environment);
      const [secrets, instance] = [await readSecrets(directory), await readInstance(directory)];
      if (instance !== undefined && !runsWith(instance, secrets)) throw new AdminError(NOT_FROM_FILE);
      await rotateSecrets(directory);
      print(
        { rotated: directory, next: `restart npm start, then: ${adminCommand(directory)} secrets reencrypt` },
        json === true,
      );
    });
  group
    .command('forget')
    .description('remove the old keys from the secrets.json of npm start, where nothing needs them any more')
    .action(async (_options, command) => {
      const { json, dataDir } = command.optsWithGlobals();
      const directory = resolveDataDirectory(dataDir, environment);
      await requireUnused(directory);
      await deleteFallbacks(directory);
      print({ forgotten: directory, next: 'they are accepted until npm start is restarted' }, json === true);
    });
}

const NOT_FROM_FILE =
  'the installation does not run with the keys of its secrets.json: restart it, or rotate those that you gave it in the environment (docs/operations/secure.md, "Rotating the keys")';

function count({ database, environment }: OpenInstallation): Promise<SecretCounts> {
  return countSecrets(database, createSecretCipher(...loadEncryptionKeys(environment)), BATCH_SIZE);
}

async function report(installation: OpenInstallation): Promise<Record<string, unknown>> {
  const { environment } = installation;
  const counts = await count(installation);
  const { undecryptableAccounts, undecryptableUpstreams, ...numbers } = counts;
  if (counts.undecryptable > 0) process.exitCode = 1;
  const { signingKeyFallbacks } = loadUrlRotation(environment);
  return {
    ...numbers,
    ...(undecryptableAccounts.length === 0 ? {} : { undecryptableAccounts }),
    ...(undecryptableUpstreams.length === 0 ? {} : { undecryptableUpstreams }),
    encryptionKeyFallbacks: adviseOnEncryption(counts, loadEncryptionKeys(environment).length - 1),
    urlSigningKeyFallbacks:
      signingKeyFallbacks.length === 0
        ? 'none'
        : adviseOnUrls(await urlKeyUseOf(installation), urlSecondsOf(environment)),
  };
}

function adviseOnEncryption({ fallback, undecryptable }: SecretCounts, keys: number): string {
  if (undecryptable > 0) {
    return 'some secrets can be decrypted by none of the keys: add the key that is missing, or remove and set them anew';
  }
  if (keys === 0) return 'none';
  if (fallback > 0) return `needed by ${fallback} stored secrets: run secrets reencrypt`;
  return 'can be removed, if every api and worker was restarted with the new ENCRYPTION_KEY before this command ran';
}

/** What providers still use of URLs signed with the fallback keys. */
function urlKeyUseOf({ database, environment }: OpenInstallation): Promise<UrlKeyUse> {
  return readUrlKeyUse(database, loadUrlRotation(environment).signingKeyFallbacks.map(urlKeyId));
}

function adviseOnUrls({ tasks, until }: UrlKeyUse, urlSeconds: number): string {
  if (until === null) {
    return `can be removed, if every api and worker was restarted with the new URL_SIGNING_KEY at least ${urlSeconds} s before this command ran`;
  }
  return `needed until ${until.toISOString()} by ${openTasks(tasks)}: run secrets status again then`;
}

function openTasks(tasks: number): string {
  return `${tasks} open ${tasks === 1 ? 'task' : 'tasks'}`;
}

/** The maximum lifetime of a download URL. */
function urlSecondsOf(environment: NodeJS.ProcessEnv): number {
  return loadUrlRotation(environment).lifetimeSeconds + ROUNDING_SECONDS;
}

/** Only a process that runs with all of the file's keys, including the old ones, shows what still needs them. */
function runsWith({ environment }: Instance, secrets: Awaited<ReturnType<typeof readSecrets>>): boolean {
  const { ENCRYPTION_KEY: encryptionKey, URL_SIGNING_KEY: urlSigningKey } = environment;
  if (secrets === undefined) return false;
  if (encryptionKey !== secrets.encryptionKey || urlSigningKey !== secrets.urlSigningKey) return false;
  const [, ...encryptionFallbacks] = loadEncryptionKeys(environment);
  const { signingKeyFallbacks } = loadUrlRotation(environment);
  const { encryptionKeyFallbacks = [], urlSigningKeyFallbacks = [] } = secrets;
  return (
    encryptionKeyFallbacks.every((key) => encryptionFallbacks.includes(key)) &&
    urlSigningKeyFallbacks.every((key) => signingKeyFallbacks.includes(key))
  );
}

/** @throws {AdminError} the old keys may still be needed. */
async function requireUnused(directory: string): Promise<void> {
  const [secrets, instance] = [await readSecrets(directory), await readInstance(directory)];
  if (instance === undefined)
    throw new AdminError('run npm start with the new keys first: this command reads its database');
  if (!runsWith(instance, secrets)) throw new AdminError(NOT_FROM_FILE);
  const database = openDatabase({ url: instance.databaseUrl, poolSize: 2 }, silentLogger());
  try {
    const installation = { database, environment: instance.environment, upstreamKeys: [] };
    const counts = await count(installation);
    if (counts.fallback > 0) {
      throw new AdminError(`${counts.fallback} stored secrets need the old key: run secrets reencrypt first`);
    }
    // An operator who knows that the key has leaked removes it first.
    if (secrets?.urlSigningKeyFallbacks !== undefined) requireUrlsOver(instance, await urlKeyUseOf(installation));
  } finally {
    await database.close();
  }
}

/** Reports what lasts longest. */
function requireUrlsOver(instance: Instance, { tasks, until, secondsLeft }: UrlKeyUse): void {
  const startedAt = Date.parse(instance.startedAt);
  const waitMs = startedAt + urlSecondsOf(instance.environment) * 1000 - Date.now();
  if (until !== null && secondsLeft * 1000 > waitMs) {
    throw new AdminError(
      `${openTasks(tasks)} may need URLs that the old key signed for up to ${Math.ceil(secondsLeft)} s more, until ${until.toISOString()}: wait so long`,
    );
  }
  if (waitMs > 0) {
    throw new AdminError(
      `download URLs that the old key signed are valid for up to ${Math.ceil(waitMs / 1000)} s more: wait so long`,
    );
  }
}
