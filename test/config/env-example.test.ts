/** `.env.example` documents every variable that the program and docker-compose.yml read, and no other. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { loadConfig } from '../../src/config/config.ts';
import { ConfigurationError } from '../../src/config/environment.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { VARIABLES } from '../../src/config/variables.ts';
import { COMPOSE_VARIABLES, ENV_EXAMPLE, renderEnvExample } from './render-env-example.ts';

describe('.env.example', () => {
  it('is what the list of variables renders to', async () => {
    assert.equal(
      await readFile(ENV_EXAMPLE, 'utf8'),
      renderEnvExample(),
      'run: npm run ts -- test/config/render-env-example.ts',
    );
  });

  it('sets nothing by itself, so that a copy of it changes no default', async () => {
    const text = await readFile(ENV_EXAMPLE, 'utf8');

    assert.deepEqual(
      text.split('\n').filter((line) => line !== '' && !line.startsWith('#')),
      [],
    );
  });

  it('gives defaults that the configuration accepts', async () => {
    const text = await readFile(ENV_EXAMPLE, 'utf8');
    const [ours = ''] = text.split('Only for docker-compose.yml');
    const environment: Record<string, string> = {};
    for (const [, name = '', value = ''] of ours.matchAll(/^# ([A-Z0-9_]+)=(.*)$/gm)) environment[name] = value;

    // Only variables without a default are missing.
    assert.throws(
      () => loadConfig(environment),
      (error) => {
        assert.ok(error instanceof ConfigurationError);
        const required = Object.entries(VARIABLES).filter(([, variable]) => !('fallback' in variable));
        assert.deepEqual(
          error.problems.map((problem) => problem.split(' ')[0] ?? '').toSorted(),
          required.map(([name]) => name).toSorted(),
        );
        return true;
      },
    );
  });

  it('documents every variable that docker-compose.yml reads from .env', async () => {
    const compose = await readFile(packageFile('docker-compose.yml'), 'utf8');
    const used = new Set([...compose.matchAll(/\$\{([A-Z0-9_]+)/g)].map((match) => match[1] ?? ''));

    const known = new Set([...Object.keys(VARIABLES), ...Object.keys(COMPOSE_VARIABLES)]);
    assert.deepEqual(
      [...used].filter((name) => !known.has(name)),
      [],
    );
    assert.deepEqual(
      Object.keys(COMPOSE_VARIABLES).filter((name) => !used.has(name)),
      [],
      'these are of no use to docker-compose.yml',
    );
  });
});
