import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  DEFAULT_DATA_DIRECTORY,
  adminCommand,
  adminCommandOf,
  loadConfig,
  loadDatabaseConfig,
  loadDirectDatabaseConfig,
  loadEncryptionKeys,
  loadLogConfig,
} from '../../src/config/config.ts';
import type { Config } from '../../src/config/config.ts';
import { ConfigurationError } from '../../src/config/environment.ts';
import { LEAST, problemsOf as problemsIn } from './least-configuration.ts';

/** Any existing file: the content of a PEM file is validated where it is used. */
const FILE = fileURLToPath(import.meta.url);

function load(environment: NodeJS.ProcessEnv = {}): Config {
  return loadConfig({ ...LEAST, ...environment });
}

const problemsOf = (environment: NodeJS.ProcessEnv): readonly string[] => problemsIn(() => load(environment));

describe('the configuration', () => {
  it('needs five variables and has a default for everything else', () => {
    const config = load();

    assert.equal(config.http.host, '127.0.0.1');
    assert.equal(config.http.port, 8787);
    assert.equal(config.http.requiresHttps, false);
    assert.equal(config.temporal.namespace, 'default');
    assert.equal(config.temporal.tls, undefined);
    assert.equal(config.outputRetentionDays, 7);
    assert.deepEqual(config.callbacks, {
      offsetsSeconds: [0, 60, 300, 1200],
      headerPrefix: 'X-Darkroom',
      oneAttemptAfterDays: 5,
    });
    assert.deepEqual(config.egress, { allow: [], deny: [], ports: [443] });
    assert.deepEqual(config.worker.queues, ['media', 'generation', 'waiting', 'archiving', 'callbacks', 'maintenance']);
    assert.equal(config.modelsDir, undefined);
    assert.equal(config.isStandalone, false);
  });

  it('reports all its problems at once, each on a line of its own', () => {
    assert.throws(
      () => loadConfig({ HOST: '0.0.0.0', PORT: '99999', OUTPUT_RETENTION_DAYS: '0', URL_SIGNING_KEY: 'short' }),
      (error: unknown) => {
        assert.ok(error instanceof ConfigurationError);
        const named = ['DATABASE_URL', 'TEMPORAL_ADDRESS', 'STORE_URL', 'ENCRYPTION_KEY', 'URL_SIGNING_KEY', 'PORT'];
        for (const name of [...named, 'OUTPUT_RETENTION_DAYS', 'HOST is 0.0.0.0', 'PUBLIC_URL is required']) {
          assert.ok(
            error.problems.some((problem) => problem.startsWith(name)),
            name,
          );
        }
        assert.equal(error.message.split('\n').length, error.problems.length + 1);
        return true;
      },
    );
  });

  it('never prints a secret', () => {
    const problems = problemsOf({ URL_SIGNING_KEY: 'hush hush', ENCRYPTION_KEY: 'hush hush', PORT: 'x' });

    assert.equal(problems.length, 3);
    assert.ok(!problems.join('\n').includes('hush'));
  });

  // Proves C6-3, C6-14.
  it('passes every variable to where it is used', () => {
    const config = load({
      HOST: '::1',
      PORT: '1',
      PUBLIC_URL: 'https://api.example.com/',
      TLS_CERT_FILE: '/tls/cert',
      TLS_KEY_FILE: '/tls/key',
      DATABASE_POOL_SIZE: '3',
      TEMPORAL_NAMESPACE: 'media',
      TEMPORAL_API_KEY: 'cloud key',
      TEMPORAL_TLS_CA_FILE: FILE,
      STORE_URL: 's3://bucket/prefix',
      S3_ENDPOINT: 'https://s3.example.com',
      S3_PUBLIC_ENDPOINT: 'https://files.example.com',
      S3_REGION: 'eu-central-1',
      S3_ACCESS_KEY_ID: 'id',
      S3_SECRET_ACCESS_KEY: 'secret',
      OUTPUT_RETENTION_DAYS: '30',
      URL_LIFETIME_SECONDS: '600',
      DOWNLOADS: 'direct',
      MODELS_DIR: '/models',
      CALLBACK_OFFSETS_SECONDS: '0,5',
      CALLBACK_HEADER_PREFIX: 'X-Acme',
      EGRESS_ALLOW: '10.0.0.1:8080',
      EGRESS_PORTS: '443,8443',
      WORKER_QUEUES: 'callbacks,media,callbacks',
      ENGINE_THREADS: '4',
      WORKER_BUILD_ID: '0.2.0-rc.1',
      ACTIVITY_POLLS: '3',
      SCRATCH_DIR: '/scratch',
      MEDIA_SANDBOX: 'required',
      SHUTDOWN_GRACE_SECONDS: '9',
      DARKROOM_EMBEDDED: 'true',
      UPSTREAM_ACME_KEY: 'acme key',
    });

    assert.deepEqual(config.database, {
      url: LEAST.DATABASE_URL,
      poolSize: 3,
      isPooled: false,
      preparesStatements: true,
    });
    assert.equal(config.temporal.address, LEAST.TEMPORAL_ADDRESS);
    assert.equal(config.temporal.namespace, 'media');
    assert.equal(config.temporal.apiKey, 'cloud key');
    assert.ok(config.temporal.tls?.ca instanceof Buffer);
    assert.equal(config.http.publicUrl, 'https://api.example.com');
    assert.deepEqual(config.http.tls, { certificateFile: '/tls/cert', keyFile: '/tls/key' });
    assert.deepEqual(config.store, {
      storeUrl: 's3://bucket/prefix',
      s3: {
        endpoint: 'https://s3.example.com',
        publicEndpoint: 'https://files.example.com',
        region: 'eu-central-1',
        accessKeyId: 'id',
        secretAccessKey: 'secret',
      },
    });
    assert.deepEqual(config.urls, {
      signingKey: LEAST.URL_SIGNING_KEY,
      signingKeyFallbacks: [],
      lifetimeSeconds: 600,
      downloads: 'direct',
    });
    assert.equal(config.encryptionKey, LEAST.ENCRYPTION_KEY);
    assert.equal(config.outputRetentionDays, 30);
    assert.equal(config.modelsDir, '/models');
    assert.deepEqual(config.callbacks, { offsetsSeconds: [0, 5], headerPrefix: 'X-Acme', oneAttemptAfterDays: 5 });
    assert.deepEqual(config.egress, { allow: ['10.0.0.1:8080'], deny: [], ports: [443, 8443] });
    assert.deepEqual(config.worker, {
      queues: ['callbacks', 'media'],
      engineThreads: 4,
      buildId: '0.2.0-rc.1',
      polls: { activities: 3, workflows: 10 },
      scratchDir: '/scratch',
      upstreamGraceMs: 900_000,
    });
    assert.equal(config.requiresMediaSandbox, true);
    assert.equal(config.shutdownGraceMs, 9_000);
    assert.equal(config.isStandalone, true);
    assert.deepEqual(config.upstreams, { secrets: { acme: 'acme key' }, secretFiles: {}, baseUrls: {} });
  });

  it('accepts additional keys during a rotation, separated by commas or line ends', () => {
    const [one, other] = ['1'.repeat(32), '2'.repeat(32)];
    const config = load({
      URL_SIGNING_KEY_FALLBACKS: `${one}, ${other}`,
      ENCRYPTION_KEY_FALLBACKS: `${one}\n${other}\n`,
    });

    assert.deepEqual(config.urls.signingKeyFallbacks, [one, other]);
    assert.deepEqual(config.encryptionKeyFallbacks, [one, other]);
    assert.deepEqual(problemsOf({ ENCRYPTION_KEY_FALLBACKS: `${one},hush hush` }), [
      'ENCRYPTION_KEY_FALLBACKS: key 2 has 9 characters; each needs at least 32',
    ]);
  });

  // Proves C4-19.
  it('retains tasks for ever, or for at least 30 days', () => {
    assert.deepEqual(
      [{}, { TASK_RETENTION_DAYS: '0' }, { TASK_RETENTION_DAYS: '30' }].map((set) => load(set).taskRetentionDays),
      [0, 0, 30],
    );
    for (const days of ['1', '29']) {
      assert.deepEqual(problemsOf({ TASK_RETENTION_DAYS: days }), [
        `TASK_RETENTION_DAYS: ${days} is too few: set at least 30, or 0 to retain tasks without limit`,
      ]);
    }
    assert.match(problemsOf({ TASK_RETENTION_DAYS: '-1' }).join(), /^TASK_RETENTION_DAYS/);
  });

  it('retains text calls for ever, or for at least 30 days, whatever holds for tasks', () => {
    const settings = [{}, { TEXT_CALL_RETENTION_DAYS: '30' }, { TASK_RETENTION_DAYS: '30' }];
    assert.deepEqual(
      settings.map((set) => load(set).textCallRetentionDays),
      [0, 30, 0],
    );
    assert.deepEqual(problemsOf({ TEXT_CALL_RETENTION_DAYS: '29' }), [
      'TEXT_CALL_RETENTION_DAYS: 29 is too few: set at least 30, or 0 to retain text calls without limit',
    ]);
    for (const days of ['-1', 'many', '36501']) {
      assert.match(problemsOf({ TEXT_CALL_RETENTION_DAYS: days }).join(), /^TEXT_CALL_RETENTION_DAYS/);
    }
  });

  it('rejects redirects to a store that has no endpoint', () => {
    assert.deepEqual(problemsOf({ DOWNLOADS: 'direct' }), ['DOWNLOADS: direct needs a STORE_URL of an S3 bucket']);
  });

  it('rejects half of a pair, an unknown queue, and an invalid schedule or header', () => {
    const cases: [NodeJS.ProcessEnv, RegExp][] = [
      [{ TLS_CERT_FILE: '/c' }, /^TLS_CERT_FILE and TLS_KEY_FILE: set both or neither$/],
      [{ TEMPORAL_TLS_KEY_FILE: FILE }, /^TEMPORAL_TLS_CERT_FILE and TEMPORAL_TLS_KEY_FILE: set both or neither$/],
      [{ TEMPORAL_TLS_CA_FILE: '/nowhere/ca.pem' }, /^TEMPORAL_TLS_CA_FILE: the file cannot be read$/],
      [
        { WORKER_QUEUES: 'media,video' },
        /^WORKER_QUEUES: "video" is not one of media, generation, waiting, archiving, callbacks, maintenance$/,
      ],
      [{ WORKER_QUEUES: 'constructor' }, /^WORKER_QUEUES: "constructor" is not one of/],
      [{ WORKER_BUILD_ID: 'a b' }, /^WORKER_BUILD_ID: "a b" is not 1 to 63 letters, digits and/],
      [{ WORKER_BUILD_ID: 'x'.repeat(64) }, /^WORKER_BUILD_ID: "x{64}" is not 1 to 63/],
      [{ ACTIVITY_POLLS: '0' }, /^ACTIVITY_POLLS: "0" is not a whole number from 1 to 100$/],
      [{ WORKFLOW_POLLS: '1' }, /^WORKFLOW_POLLS: "1" is not a whole number from 2 to 100$/],
      [{ WORKER_QUEUES: ',' }, /^WORKER_QUEUES is empty/],
      [{ CALLBACK_OFFSETS_SECONDS: '5,60' }, /^CALLBACK_OFFSETS_SECONDS: must start with 0/],
      [{ CALLBACK_OFFSETS_SECONDS: '0,60,30' }, /^CALLBACK_OFFSETS_SECONDS: must start with 0/],
      [{ CALLBACK_HEADER_PREFIX: 'X Darkroom' }, /^CALLBACK_HEADER_PREFIX: "X Darkroom"/],
      [{ CALLBACK_HEADER_PREFIX: 'X-Darkroom-' }, /^CALLBACK_HEADER_PREFIX: "X-Darkroom-"/],
      [{ CALLBACK_HEADER_PREFIX: 'webhook' }, /^CALLBACK_HEADER_PREFIX: "webhook" is that of the Standard Webhooks/],
      [{ CALLBACK_HEADER_PREFIX: 'WebHook' }, /^CALLBACK_HEADER_PREFIX: "WebHook" is that of the Standard Webhooks/],
      [{ PUBLIC_URL: 'api.example.com' }, /^PUBLIC_URL: "api.example.com" is not an http\(s\) URL/],
      [{ PUBLIC_URL: 'https://api.example.com/v1' }, /^PUBLIC_URL: /],
      [{ PUBLIC_URL: 'ftp://api.example.com' }, /^PUBLIC_URL: /],
      [{ PUBLIC_URL: 'https://api.example.com/?a=1' }, /^PUBLIC_URL: /],
      [{ PORT: '0' }, /^PORT is 0, any free one: set PUBLIC_URL too$/],
    ];
    for (const [environment, expected] of cases) {
      const problems = problemsOf(environment);
      assert.equal(problems.length, 1, JSON.stringify([environment, problems]));
      assert.match(problems[0] ?? '', expected);
    }
  });

  it('reads the log settings, the database and the encryption key alone, whatever else is missing', () => {
    assert.deepEqual(loadLogConfig({ LOG_LEVEL: 'debug', LOG_FORMAT: 'pretty' }), { level: 'debug', format: 'pretty' });
    assert.deepEqual(loadDatabaseConfig({ DATABASE_URL: 'postgres://db/x' }), {
      url: 'postgres://db/x',
      poolSize: 10,
      isPooled: false,
      preparesStatements: true,
    });
    assert.deepEqual(loadEncryptionKeys({ ENCRYPTION_KEY: LEAST.ENCRYPTION_KEY }), [LEAST.ENCRYPTION_KEY]);
    assert.throws(() => loadLogConfig({ LOG_LEVEL: 'loud' }), ConfigurationError);
  });
});

describe('the way to the database', () => {
  const url = 'postgres://pooler/x';
  const direct = 'postgres://db/x';

  it('prepares no statements behind a pooler, unless that is set', () => {
    const pooled = { DATABASE_URL: url, DATABASE_POOLER: 'transaction' };
    const expected = { url, poolSize: 10, isPooled: true };
    assert.deepEqual(loadDatabaseConfig(pooled), { ...expected, preparesStatements: false });
    assert.deepEqual(loadDatabaseConfig({ ...pooled, DATABASE_STATEMENTS: 'named' }), {
      ...expected,
      preparesStatements: true,
    });
    assert.equal(
      loadDatabaseConfig({ DATABASE_URL: direct, DATABASE_STATEMENTS: 'unnamed' }).preparesStatements,
      false,
    );
  });

  it('is the direct one for migrate, which needs no other, and never that of a pooler', () => {
    const migrates = { url: direct, poolSize: 10 };
    assert.deepEqual(loadDirectDatabaseConfig({ DATABASE_URL: direct }), migrates);
    const named = { ...migrates, variable: 'DATABASE_DIRECT_URL' };
    assert.deepEqual(loadDirectDatabaseConfig({ DATABASE_DIRECT_URL: direct }), named);
    const both = { DATABASE_URL: url, DATABASE_DIRECT_URL: direct, DATABASE_POOLER: 'transaction' };
    assert.deepEqual(loadDirectDatabaseConfig(both), named);
    assert.throws(
      () => loadDirectDatabaseConfig({ DATABASE_URL: url, DATABASE_POOLER: 'transaction' }),
      (error) => error instanceof ConfigurationError && /DATABASE_DIRECT_URL is not set: with/.test(error.message),
    );
  });
});

describe('listening beyond loopback', () => {
  const publicUrl = { PUBLIC_URL: 'https://api.example.com' };

  it('is rejected without a certificate or trusted proxies', () => {
    for (const host of ['0.0.0.0', '::', '192.168.1.10', 'api.example.com', '127.0.0.1.example.com']) {
      const problems = problemsOf({ HOST: host, ...publicUrl });
      assert.match(problems.join('\n'), new RegExp(`^HOST is ${host}, which is not loopback`), host);
    }
  });

  // Proves C0-9.
  it('is rejected without a public URL, even with a certificate', () => {
    const problems = problemsOf({ HOST: '0.0.0.0', TLS_CERT_FILE: '/c', TLS_KEY_FILE: '/k' });

    assert.deepEqual(problems, ['PUBLIC_URL is required when HOST is not loopback']);
  });

  it('needs HTTPS of each request behind proxies, and serves it itself with a certificate', () => {
    assert.equal(load({ HOST: '0.0.0.0', TRUSTED_PROXIES: '10.0.0.0/8', ...publicUrl }).http.requiresHttps, true);
    const own = load({ HOST: '0.0.0.0', TLS_CERT_FILE: '/c', TLS_KEY_FILE: '/k', ...publicUrl });
    assert.equal(own.http.requiresHttps, false);
  });

  it('does not include any spelling of loopback', () => {
    for (const host of ['127.0.0.1', '127.8.8.8', 'localhost', '::1']) {
      assert.equal(load({ HOST: host }).http.requiresHttps, false);
    }
  });
});

describe('trusted proxies', () => {
  it('are addresses and ranges of both families', () => {
    const { trustedProxies } = load({ TRUSTED_PROXIES: '10.1.0.0/16, 192.0.2.7, fd00::/8, 2001:db8::1' }).http;

    for (const address of ['10.1.255.255', '192.0.2.7']) assert.ok(trustedProxies.check(address, 'ipv4'), address);
    for (const address of ['10.2.0.0', '192.0.2.8', '0.0.0.0'])
      assert.ok(!trustedProxies.check(address, 'ipv4'), address);
    for (const address of ['fd12::1', '2001:db8::1']) assert.ok(trustedProxies.check(address, 'ipv6'), address);
    for (const address of ['fe80::1', '2001:db8::2']) assert.ok(!trustedProxies.check(address, 'ipv6'), address);
  });

  it('are empty by default', () => {
    assert.equal(load().http.trustedProxies.check('127.0.0.1', 'ipv4'), false);
  });

  it('are rejected when an entry is ambiguous', () => {
    const wrong = ['10.0.0.0/', '10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/8/8', '10.0.0.0/0x8', '10.0.0.0/1e1', '10.0.0'];
    for (const entry of [...wrong, '10.0.0.0/8.5', 'proxy.example.com', '::/129', '*', '/8', '1.2.3.4/']) {
      assert.deepEqual(problemsOf({ TRUSTED_PROXIES: entry }), [
        `TRUSTED_PROXIES: "${entry}" is not an address or CIDR`,
      ]);
    }
  });
});

/** Retention periods, and the price of storage: the defaults of the contract, and values that are rejected. */
describe('the retention settings', () => {
  // Proves C5-16.
  it('charge $0.05 per GB and month, and default to temporary for 7 days, URLs of half an hour, inputs for 30 days', () => {
    const config = load();

    assert.equal(config.storagePriceMicroUsdPerGbMonth, 50_000n);
    assert.equal(config.outputRetentionDays, 7);
    assert.equal(config.urls.lifetimeSeconds, 1_800);
    assert.equal(config.inputRetentionDays, 30);
  });

  it('may be free, or have any exact price', () => {
    for (const [text, microUsd] of [
      ['0', 0n],
      ['0.000001', 1n],
      ['12', 12_000_000n],
    ] as const) {
      assert.equal(load({ STORAGE_USD_PER_GB_MONTH: text }).storagePriceMicroUsdPerGbMonth, microUsd);
    }
  });

  it('reject a price that is not a decimal amount', () => {
    for (const text of ['-1', '1e3', '0.0000001', 'free', '0,05', 'NaN', '$1']) {
      assert.match(problemsOf({ STORAGE_USD_PER_GB_MONTH: text })[0] ?? '', /^STORAGE_USD_PER_GB_MONTH: /, text);
    }
  });
});

/** Commands for operators work when they are pasted. */
describe('the admin command line', () => {
  it('names the data directory when it is not the default one', () => {
    assert.equal(adminCommand(undefined), 'npm run admin --');
    assert.equal(adminCommand(DEFAULT_DATA_DIRECTORY), 'npm run admin --');
    assert.equal(adminCommand('/x'), "npm run admin -- --data-dir '/x'");
    assert.equal(adminCommand("/Ann's data"), String.raw`npm run admin -- --data-dir '/Ann'\''s data'`);
  });

  it('names no npm script in a container, which has none', () => {
    assert.equal(adminCommand(undefined, false), 'admin');
    assert.equal(adminCommand('/data', false), 'admin');
  });

  it('follows from the environment of the processes that npm start runs', () => {
    assert.equal(adminCommandOf({}), 'npm run admin --');
    assert.equal(adminCommandOf({ DATA_DIR: '/x' }), 'npm run admin --');
    assert.equal(adminCommandOf({ DARKROOM_EMBEDDED: 'true' }), 'npm run admin --');
    assert.equal(adminCommandOf({ DARKROOM_EMBEDDED: 'true', DATA_DIR: '/x' }), "npm run admin -- --data-dir '/x'");
  });
});
