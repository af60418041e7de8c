import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ConfigurationError, EnvironmentReader } from '../../src/config/environment.ts';
import { VARIABLES } from '../../src/config/variables.ts';
import type { Variable, VariableName } from '../../src/config/variables.ts';

const NAMES = Object.keys(VARIABLES) as VariableName[];
const variableOf = (name: VariableName): Variable => VARIABLES[name];
const namesOf = (...kinds: Variable['kind'][]): VariableName[] =>
  NAMES.filter((name) => kinds.includes(variableOf(name).kind));

/** Reads with one method, and returns the problems that this caused. */
function problemsOf(environment: NodeJS.ProcessEnv, read: (reader: EnvironmentReader) => void): readonly string[] {
  const reader = new EnvironmentReader(environment);
  read(reader);
  try {
    reader.throwIfBroken();
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    return error.problems;
  }
}

describe('a variable of the environment', () => {
  it('has its default where it is not set or empty', () => {
    for (const name of NAMES) {
      const { fallback } = variableOf(name);
      if (fallback === undefined) continue;
      assert.equal(new EnvironmentReader({}).text(name), fallback, name);
      assert.equal(new EnvironmentReader({ [name]: '' }).text(name), fallback, name);
    }
  });

  it('is reported by name, with its purpose, when it has no default and is not set', () => {
    for (const name of NAMES) {
      const { fallback, help } = variableOf(name);
      if (fallback !== undefined) continue;
      const problems = problemsOf({}, (reader) => reader.text(name));
      assert.deepEqual(problems, [`${name} is not set. ${help}`]);
    }
  });

  it('has a default that its own rule accepts', () => {
    const problems = problemsOf({}, (reader) => {
      for (const name of namesOf('integer')) reader.integer(name);
      for (const name of namesOf('boolean')) reader.boolean(name);
      for (const name of namesOf('choice')) reader.text(name);
    });

    assert.deepEqual(problems, []);
  });

  it('is rejected by name when a whole number is required', () => {
    for (const name of namesOf('integer')) {
      const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = variableOf(name);
      for (const value of ['-1', '1.5', '1e3', ' 7', 'seven', '0x10', String(minimum - 1), String(maximum + 1)]) {
        const problems = problemsOf({ [name]: value }, (reader) => reader.integer(name));
        assert.deepEqual(problems, [`${name}: "${value}" is not a whole number from ${minimum} to ${maximum}`]);
      }
      for (const value of [minimum, maximum]) {
        assert.equal(new EnvironmentReader({ [name]: String(value) }).integer(name), value);
      }
    }
  });

  it('is rejected by name when it is neither true nor false', () => {
    for (const name of namesOf('boolean')) {
      for (const [value, meaning] of [
        ['true', true],
        ['TRUE', true],
        ['1', true],
        ['false', false],
        ['0', false],
      ] as const) {
        const reader = new EnvironmentReader({ [name]: value });
        assert.equal(reader.boolean(name), meaning);
        reader.throwIfBroken();
      }
      for (const value of ['yes', 'on', '2', 'truee']) {
        const problems = problemsOf({ [name]: value }, (reader) => reader.boolean(name));
        assert.deepEqual(problems, [`${name}: "${value}" is neither true nor false`]);
      }
    }
  });

  it('is rejected with the possible choices when it is none of them', () => {
    for (const name of namesOf('choice')) {
      const { choices = [] } = variableOf(name);
      const problems = problemsOf({ [name]: 'loud' }, (reader) => reader.text(name));
      assert.deepEqual(problems, [`${name}: "loud" is not one of ${choices.join(', ')}`]);
    }
  });

  it('is read as comma-separated entries when it is a list', () => {
    for (const name of namesOf('list')) {
      assert.deepEqual(new EnvironmentReader({ [name]: ' a , b,,c ' }).list(name), ['a', 'b', 'c']);
    }
    assert.deepEqual(new EnvironmentReader({ EGRESS_PORTS: '443, 8443' }).integers('EGRESS_PORTS'), [443, 8443]);
    assert.deepEqual(
      problemsOf({ EGRESS_PORTS: '443,https,-1' }, (reader) => reader.integers('EGRESS_PORTS')),
      ['EGRESS_PORTS: "https" is not a whole number', 'EGRESS_PORTS: "-1" is not a whole number'],
    );
  });
});

describe('a secret', () => {
  let directory: string;
  let file: string;
  before(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-secrets-'));
    file = path.join(directory, 'secret');
    await writeFile(file, 'from a file\n');
  });
  after(() => rm(directory, { recursive: true, force: true }));

  it('is read from the file that its _FILE variable names, without the line end', () => {
    for (const name of namesOf('secret')) {
      assert.equal(new EnvironmentReader({ [`${name}_FILE`]: file }).text(name), 'from a file', name);
      assert.equal(new EnvironmentReader({ [name]: '', [`${name}_FILE`]: file }).text(name), 'from a file', name);
    }
  });

  it('is rejected when it is given twice, without printing its value', () => {
    for (const name of namesOf('secret')) {
      const problems = problemsOf({ [name]: 'hush', [`${name}_FILE`]: file }, (reader) => reader.text(name));
      assert.deepEqual(problems, [`${name} and ${name}_FILE are both set: set only one`]);
    }
  });

  it('is rejected when its file is empty or cannot be read', async () => {
    await writeFile(path.join(directory, 'empty'), '\n');
    for (const name of namesOf('secret')) {
      const problemWith = (given: string): string | undefined =>
        problemsOf({ [`${name}_FILE`]: path.join(directory, given) }, (reader) => reader.text(name))[0];
      assert.equal(problemWith('empty'), `${name}_FILE: the file is empty`);
      assert.equal(problemWith('missing'), `${name}_FILE: the file cannot be read`);
    }
  });

  it('of an upstream is found under the name in its variable, as a value or the path of a file', () => {
    const environment = {
      UPSTREAM_ACME_KEY: 'one',
      UPSTREAM_FAR_AWAY_KEY_FILE: '/not/there/yet',
      UPSTREAM_EMPTY_KEY: '',
      UPSTREAM__KEY: 'no name',
      upstream_lower_key: 'not ours',
      UPSTREAM_ACME_URL: 'http://10.0.0.7:8188/v1',
      UPSTREAM_A_KEY_KEY: 'two',
    };

    assert.deepEqual(new EnvironmentReader(environment).upstreams(), {
      secrets: { acme: 'one', a_key: 'two' },
      secretFiles: { far_away: '/not/there/yet' },
      baseUrls: { acme: 'http://10.0.0.7:8188/v1' },
    });
  });

  it('of an upstream is rejected when there are two, and so is a URL that is none', () => {
    const environment = {
      UPSTREAM_ACME_KEY: 'one',
      UPSTREAM_ACME_KEY_FILE: file,
      UPSTREAM_ONE_URL: 'ftp://example.com',
      UPSTREAM_TWO_URL: 'https://user:password@example.com',
      UPSTREAM_THREE_URL: 'https://example.com/?a=b',
    };

    const problems = problemsOf(environment, (reader) => reader.upstreams());

    assert.deepEqual(problems.map((problem) => problem.split(/[: ]/)[0] ?? '').toSorted(), [
      'UPSTREAM_ACME_KEY',
      'UPSTREAM_ONE_URL',
      'UPSTREAM_THREE_URL',
      'UPSTREAM_TWO_URL',
    ]);
    assert.doesNotMatch(problems.join(''), /password/);
  });
});
