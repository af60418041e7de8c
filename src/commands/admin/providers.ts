/** `admin providers` and `admin models providers`: what can be offered with a key, and the keys. */
import { readFile } from 'node:fs/promises';
import { text as readText } from 'node:stream/consumers';
import { createSecretCipher } from '../../accounts/secret-cipher.ts';
import { readVerifications, verificationOf } from '../../catalogue/live-verifications.ts';
import type { ModelVerification } from '../../catalogue/live-verifications.ts';
import { findMissing, providerNamesOf } from '../../catalogue/offer.ts';
import type { ProviderFile } from '../../catalogue/provider-file.ts';
import { readModelTexts } from '../../catalogue/model-files.ts';
import { loadEncryptionKeys, loadUpstreamEnvironment } from '../../config/config.ts';
import { packageFile } from '../../config/package-root.ts';
import { canonicalName } from '../../domain/upstream-names.ts';
import { silentLogger } from '../../telemetry/log.ts';
import { ProviderNotFoundError, SettingInvalidError, changeProviderSettings } from '../../providers/change-settings.ts';
import type { SettingChange } from '../../accounts/stored-upstream-settings.ts';
import { createUpstreamSettings } from '../../upstreams/upstream-settings.ts';
import type { UpstreamSettings } from '../../upstreams/upstream-settings.ts';
import { AdminError } from './admin-error.ts';
import type { Group } from './arguments.ts';
import type { OnInstallation, OpenInstallation } from './installation.ts';

export function providerCommands(group: Group, onInstallation: OnInstallation): void {
  listCommand(group.command('list'), onInstallation);
  group
    .command('set')
    .description('store the key of a provider, encrypted, or its URL; its models are offered within seconds')
    .argument('<provider>')
    .option('--key-file <file>', 'file with the key; -, which is the default without --url: standard input')
    .option('--url <url>', 'URL that replaces the one in the file of the provider')
    .action(
      onInstallation(async (installation, provider, { keyFile, url }) => {
        const secret = keyFile === undefined && url !== undefined ? undefined : await readKey(keyFile ?? '-');
        await change(installation, provider, { secret, baseUrl: url });
        return { provider, stored: [...(secret === undefined ? [] : ['key']), ...(url === undefined ? [] : ['url'])] };
      }),
    );
  group
    .command('remove')
    .description('delete the stored key and URL of a provider; what the environment sets stays')
    .argument('<provider>')
    .action(
      onInstallation(async (installation, provider) => {
        await change(installation, provider, { secret: null, baseUrl: null });
        return { provider, removed: true };
      }),
    );
}

/** The command that lists the providers. */
export function listCommand(command: Group, onInstallation: OnInstallation): void {
  command
    .description(
      'list the providers, whether their models are offered, what is missing otherwise, and which were run live',
    )
    .action(onInstallation(listProviders));
}

const STATUSES = {
  offered: 'offered',
  credential: 'available with a key',
  valid_credential: 'key rejected by the provider',
  base_url: 'available with a URL',
} as const;

/** What providers say about credentials, as the api processes recorded it, once `refresh` has read it. */
async function openProbes({ database, environment }: OpenInstallation, settings: UpstreamSettings) {
  // With the protocols, as `readFiles`.
  const { createCredentialProbes } = await import('../../providers/credential-probes.ts');
  const [encryptionKey] = loadEncryptionKeys(environment);
  return createCredentialProbes({ database, settings, encryptionKey, logger: silentLogger() });
}

/** What is configured for providers, once `refresh` has read what is stored. */
export function openSettings({ database, environment }: OpenInstallation): UpstreamSettings {
  return createUpstreamSettings({
    environment: loadUpstreamEnvironment(environment),
    database,
    cipher: createSecretCipher(...loadEncryptionKeys(environment)),
    logger: silentLogger(),
  });
}

async function listProviders(installation: OpenInstallation): Promise<unknown> {
  const { database, environment, upstreamKeys } = installation;
  const { providers, definitions } = await readFiles(environment);
  const settings = openSettings(installation);
  try {
    const probes = await openProbes(installation, settings);
    await Promise.all([settings.refresh(), probes.refresh()]);
    const known = {
      isRejected: (name: string, credential: string) => probes.isRejected(name, credential),
      baseUrlOf: (name: string) => settings.baseUrlOf(name),
      hasCredential: (name: string) => settings.hasCredential(name) || upstreamKeys.includes(canonicalName(name)),
    };
    const verifications = await readVerifications(database);
    return providers
      .toSorted((one, other) => one.name.localeCompare(other.name))
      .map((provider) => {
        const missing = findMissing(provider, known);
        const models = definitions.filter((model) => providerNamesOf(model).has(provider.name));
        return {
          provider: provider.name,
          title: provider.title,
          status: STATUSES[missing ?? 'offered'],
          credential: probes
            .of({ provider, models })
            .map(({ credential, state }) => `${credential} ${state.replace('_', ' ')}`),
          models: models.map(({ name }) => name),
          keys: provider.keys ?? null,
          documentation: provider.documentation ?? null,
          checked: provider.checkedAt,
          live: models.map((model) => ({
            model: model.name,
            live: presentVerification(verificationOf(model, provider.name, verifications)),
          })),
        };
      });
  } finally {
    await settings.close();
  }
}

function presentVerification(verification: ModelVerification | undefined): string {
  if (verification === undefined) return 'not yet run against the live service';
  return `${verification.at.toISOString().slice(0, 10)} ${verification.outcome}`;
}

/** The model files of an installation, as the api reads them. */
export async function readFiles(environment: NodeJS.ProcessEnv) {
  // They take as long to load as the rest of `admin` together.
  const { createModelReader } = await import('../../catalogue/load-models.ts');
  const { PROTOCOLS } = await import('../../providers/protocols.ts');
  const { MODELS_DIR: own = '' } = environment;
  return createModelReader(PROTOCOLS)(await readModelTexts([packageFile('models'), ...(own === '' ? [] : [own])]));
}

/** @throws {AdminError} */
async function change(
  { database, environment }: OpenInstallation,
  name: string,
  settings: SettingChange,
): Promise<void> {
  const { providers } = await readFiles(environment);
  const provider: ProviderFile | undefined = providers.find((each) => each.name === name);
  if (provider === undefined) {
    throw new AdminError(`${new ProviderNotFoundError().message}: npm run admin -- providers list shows all`);
  }
  try {
    await changeProviderSettings(database, createSecretCipher(...loadEncryptionKeys(environment)), provider, settings);
  } catch (error) {
    if (error instanceof SettingInvalidError) throw new AdminError(error.message.replace('invalid request: ', ''));
    throw error;
  }
}

/** @throws {AdminError} there is none. */
async function readKey(file: string): Promise<string> {
  if (file === '-' && process.stdin.isTTY) process.stderr.write('type or paste the key, then Ctrl-D:\n');
  const key = await (file === '-' ? readText(process.stdin) : readFile(file, 'utf8')).catch((error: unknown) => {
    throw new AdminError(`--key-file: it cannot be read: ${error instanceof Error ? error.message : ''}`);
  });
  if (key.trim() === '') throw new AdminError('--key-file: it is empty');
  return key;
}
