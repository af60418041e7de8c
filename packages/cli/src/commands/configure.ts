/**
 * `configure`: writes the configuration file with the key. The key is read from stdin or from a hidden prompt, and is
 * tested before it is written.
 */
import type { Command } from 'commander';
import { ApiError, UnreachableError, createApiClient } from '@darkroom/api/client/api-client';
import { configFilePath, readConfigFile, writeConfigFile } from '../config-file.ts';
import { promptHidden } from '../hidden-prompt.ts';
import { DEFAULT_BASE_URL, checkBaseUrl, checkKey } from '../settings.ts';
import type { Settings } from '../settings.ts';
import { readStdin } from '../stdin-text.ts';
import type { Terminal } from '../terminal.ts';
import type { CliEnvironment } from '../cli-environment.ts';

const TRY_TIMEOUT_MS = 15_000;

export function addConfigureCommand(program: Command, cli: CliEnvironment, terminal: Terminal): void {
  program
    .command('configure')
    .description('write the configuration file; the API key is read from stdin, or typed unseen')
    .option('--base-url <url>', `where the service is; default: what the file has, else ${DEFAULT_BASE_URL}`)
    .action(async ({ baseUrl: named }: { baseUrl?: string }) => {
      const file = configFilePath(cli.environment);
      const earlier = named === undefined ? (await readConfigFile(file))?.baseUrl : named;
      const baseUrl = checkBaseUrl(earlier ?? DEFAULT_BASE_URL, named === undefined ? file : '--base-url');
      const typed = cli.stdin.isTTY ? await promptHidden(`API key for ${baseUrl}: `, cli) : await readStdin(cli);
      const settings = { baseUrl, apiKey: checkKey(typed, cli.stdin.isTTY ? 'the key' : 'stdin') };
      await tryOut(settings, cli, terminal);
      await writeConfigFile(file, settings);
      terminal.say(`${file} is written; only you can read it`);
    });
}

/** @throws {ApiError} the service does not know the key: nothing is written. */
async function tryOut(settings: Settings, cli: CliEnvironment, terminal: Terminal): Promise<void> {
  const timeout = AbortSignal.timeout(TRY_TIMEOUT_MS);
  try {
    const signal = AbortSignal.any([timeout, cli.interrupt]);
    await createApiClient(settings).call('GET', '/models', { signal });
  } catch (error) {
    if (cli.interrupt.aborted) throw error;
    if (error instanceof UnreachableError || timeout.aborted) {
      terminal.say(
        `the key could not be tried: ${timeout.aborted ? 'no answer came in time' : (error as Error).message}`,
      );
      return;
    }
    // A key without that scope, or a busy service: the key is valid all the same.
    if (!(error instanceof ApiError) || error.kind === 'unauthenticated' || error.kind === 'not_found') throw error;
  }
}
