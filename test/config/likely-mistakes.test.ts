/**
 * Misspelt settings cause a warning, and variables of other programs do not. Production rejects what a developer's
 * machine does not.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { COMPOSE_NAMES, unknownVariables, unsetForProduction } from '../../src/config/likely-mistakes.ts';
import { VARIABLES } from '../../src/config/variables.ts';
import { COMPOSE_VARIABLES } from './render-env-example.ts';
import { loadConfig } from '../../src/config/config.ts';
import { LEAST, problemsOf as problemsIn } from './least-configuration.ts';

function messages(...names: string[]): string[] {
  const environment = Object.fromEntries(names.map((name) => [name, 'hunter2']));
  return unknownVariables(environment).map(({ message }) => message);
}

/** Every name that results from swapping two adjacent letters of this one. */
function swapsOf(name: string): readonly string[] {
  return Array.from(name.slice(1), (letter, at) => `${name.slice(0, at)}${letter}${name[at]}${name.slice(at + 2)}`);
}

const SETTINGS = Object.entries(VARIABLES).flatMap(([name, { kind }]) =>
  kind === 'secret' ? [name, `${name}_FILE`] : [name],
);

describe('an unknown variable', () => {
  for (const [name, meant] of [
    ['DATABSE_URL', 'DATABASE_URL'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['DATABASEURL', 'DATABASE_URL'],
    ['DATABASE__URL', 'DATABASE_URL'],
    ['database_url', 'DATABASE_URL'],
    ['DATABASE_URL_FIL', 'DATABASE_URL_FILE'],
    ['UPSTREAM_GRACE_SECOND', 'UPSTREAM_GRACE_SECONDS'],
    ['DARKROOM_EMBEDED', 'DARKROOM_EMBEDDED'],
    ['ENCRPYTION_KEY', 'ENCRYPTION_KEY'],
    ['LOG_REQUEST', 'LOG_REQUESTS'],
    ['TEMPORAL_ADRESS', 'TEMPORAL_ADDRESS'],
    ['TRUSTED_PROXY', 'TRUSTED_PROXIES'],
    ['TRUSTED_PEERS', undefined],
    ['PUBLIC_URLS', 'PUBLIC_URL'],
    ['DATABASE_ULR', 'DATABASE_URL'],
    ['DATABSE_ULR', 'DATABASE_URL'],
    ['TEMPORAL_PROT', 'TEMPORAL_PORT'],
    ['TRUSTED_PROXEIS', 'TRUSTED_PROXIES'],
    ['PROT', 'PORT'],
    ['port', 'PORT'],
    ['Port', 'PORT'],
    ['host', 'HOST'],
    ['UPSTREM_OPENAI_KEY', 'UPSTREAM_OPENAI_KEY'],
    ['UPSTRAEM_OPENAI_KEY', 'UPSTREAM_OPENAI_KEY'],
    ['UPSTREAMS_OPENAI_KEY', 'UPSTREAM_OPENAI_KEY'],
    ['UPSTREM_MY_HOST_KEY_FILE', 'UPSTREAM_MY_HOST_KEY_FILE'],
    ['UPSTREM_OPENAI', undefined],
    ['URL_SIGNING_FALLBACKS', 'URL_SIGNING_KEY_FALLBACKS'],
    ['CALLBACK_PREFIX', 'CALLBACK_HEADER_PREFIX'],
  ] as const) {
    it(`${name} is ${meant === undefined ? 'too far from every setting' : `taken for ${meant}`}`, () => {
      assert.deepEqual(messages(name), meant === undefined ? [] : [`${name} is not a setting; did you mean ${meant}?`]);
    });
  }

  it('is reported when two adjacent letters of a setting are swapped', () => {
    const swapped = new Set(SETTINGS.flatMap((name) => swapsOf(name)));
    const known = new Set([...SETTINGS, ...COMPOSE_NAMES]);
    const unnoticed = [...swapped].filter((name) => !known.has(name) && messages(name).length === 0);
    assert.deepEqual(unnoticed, []);
  });

  it('is reported when it has our prefix, without its value', () => {
    assert.deepEqual(messages('DARKROOM_PORT', 'UPSTREAM_FAL_TOKEN', 'UPSTREAM_fal_KEY'), [
      'DARKROOM_PORT is not a setting; .env.example has all of them',
      'UPSTREAM_fal_KEY is not a setting; the credentials of an upstream are in UPSTREAM_<NAME>_KEY, in capital letters',
      'UPSTREAM_FAL_TOKEN is not a setting; the credentials of an upstream are in UPSTREAM_<NAME>_KEY, in capital letters',
    ]);
  });

  it('is ignored while it is empty', () => {
    assert.deepEqual(unknownVariables({ DATABSE_URL: '', DARKROOM_PORT: undefined }), []);
  });
});

describe('a known variable', () => {
  it('is not reported when it is ours, also as a file, or of docker-compose.yml', () => {
    assert.deepEqual(messages(...SETTINGS, ...COMPOSE_NAMES), []);
    assert.deepEqual(messages('UPSTREAM_FAL_KEY', 'UPSTREAM_MY_HOST_KEY_FILE'), []);
    assert.deepEqual(COMPOSE_NAMES.toSorted(), Object.keys(COMPOSE_VARIABLES).toSorted());
  });

  it('is not reported when it belongs to another program', () => {
    const others = `
      HOME PATH USER SHELL LANG LC_ALL TERM PWD OLDPWD SHLVL HOSTNAME HOSTS PORTS POST LOGNAME EDITOR PAGER DISPLAY TMPDIR
      XDG_DATA_DIRS XDG_CONFIG_DIRS XDG_DATA_HOME XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS SSH_AUTH_SOCK LS_COLORS
      http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY NO_COLOR FORCE_COLOR CI TZ DEBUG
      npm_config_registry npm_package_json npm_lifecycle_event NODE NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS NODE_ENVS
      NVM_DIR UV_THREADPOOL_SIZE SSL_CERT_FILE SSL_CERT_DIR SSL_KEY_FILE CURL_CA_BUNDLE REQUESTS_CA_BUNDLE GIT_DIR
      PGHOST PGPORT PGDATABASE PGUSER PGPASSWORD PGDATA PGSSLMODE POSTGRES_HOST POSTGRES_USER POSTGRES_DB
      POSTGRES_INITDB_ARGS POSTGRES_HOST_AUTH_METHOD DB_HOST DB_PORT DB_URL REDIS_URL MYSQL_URL MONGO_URL
      TEMPORAL_CLI_ADDRESS TEMPORAL_CLI_NAMESPACE TEMPORAL_CLI_TLS_CERT TEMPORAL_CLI_TLS_KEY TEMPORAL_CLI_TLS_CA
      TEMPORAL_PROFILE TEMPORAL_CONFIG_FILE TEMPORAL_ENV TEMPORAL_ENV_FILE TEMPORAL_HOST TEMPORAL_HOST_PORT
      TEMPORAL_TLS_CERT TEMPORAL_TLS_KEY TEMPORAL_TLS_CA TEMPORAL_TLS_CERT_DATA TEMPORAL_TLS_SERVER_NAME
      TEMPORAL_TLS_CLIENT_CERT_PATH TEMPORAL_TLS_CLIENT_KEY_PATH TEMPORAL_TLS_SERVER_CA_CERT_PATH
      TEMPORAL_TLS_DISABLE_HOST_VERIFICATION TEMPORAL_CODEC_ENDPOINT TEMPORAL_CODEC_AUTH TEMPORAL_GRPC_META_KEY
      TEMPORAL_CORS_ORIGINS TEMPORAL_BROADCAST_ADDRESS TEMPORAL_OPENAPI_ENABLED TEMPORAL_UI_ENABLED
      TEMPORAL_URL TEMPORAL_KEY S3_ACCESS_KEY S3_SECRET_KEY DATABASE_FILE TLS_FILE OTEL_EXPORTER_ENDPOINT STREAM_API_KEY
      DOWNSTREAM_API_KEY SIGNING_KEY CALLBACK_URL
      AWS_REGION AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_PROFILE S3_BUCKET MINIO_ROOT_USER
      OTEL_SERVICE_NAME OTEL_EXPORTER_OTLP_PROTOCOL OTEL_EXPORTER_OTLP_TIMEOUT OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
      OTEL_EXPORTER_OTLP_TRACES_HEADERS OTEL_RESOURCE_ATTRIBUTES
      KUBERNETES_SERVICE_HOST KUBERNETES_PORT_443_TCP_ADDR DARKROOM_API_SERVICE_HOST DARKROOM_API_SERVICE_PORT_HTTPS
      DARKROOM_API_PORT_8787_TCP_ADDR TEMPORAL_PORT_7233_TCP UPSTREAM_SERVICE_HOST
      DARKROOM_API_KEY DARKROOM_BASE_URL DARKROOM_WEBHOOK_SECRET DARKROOM_TEST_DATABASE_URL
    `;
    assert.deepEqual(messages(...others.trim().split(/\s+/)), []);
    // Of Kubernetes too, and recognized by its value.
    assert.deepEqual(unknownVariables({ DARKROOM_PORT: 'tcp://10.0.0.7:8787' }), []);
  });
});

const OFF_LOOPBACK = { HOST: '0.0.0.0', PUBLIC_URL: 'https://api.example.com', TRUSTED_PROXIES: '10.0.0.0/8' };

const problemsOf = (environment: Readonly<Record<string, string>>): readonly string[] =>
  problemsIn(() => loadConfig({ ...LEAST, ...environment }));

const WEAK = {
  'a secret of one letter': [{ ENCRYPTION_KEY: 's'.repeat(40) }, /^ENCRYPTION_KEY is not a secret/],
  'a placeholder': [
    { URL_SIGNING_KEY: 'please-change-me-please-change-me-please' },
    /^URL_SIGNING_KEY is not a secret/,
  ],
  'the digits in their order': [{ ADMIN_TOKEN: '01234567890123456789012345678901' }, /^ADMIN_TOKEN is not a secret/],
  'a placeholder that is accepted beside a secret': [
    { ENCRYPTION_KEY_FALLBACKS: 'please-change-me-please-change-me-please' },
    /^ENCRYPTION_KEY_FALLBACKS contains a value that is not a secret/,
  ],
  'one secret for two things': [{ ENCRYPTION_KEY: LEAST.URL_SIGNING_KEY }, /are the same/],
  'a well-known password': [
    { DATABASE_URL: 'postgres://postgres:Postgres@db/darkroom' },
    /^DATABASE_URL has a well-known password/,
  ],
  'a well-known password behind a pooler': [
    { DATABASE_DIRECT_URL: 'postgres://postgres:Postgres@db/darkroom' },
    /^DATABASE_DIRECT_URL has a well-known password/,
  ],
} as const;

describe('production', () => {
  for (const [what, [environment, problem]] of Object.entries(WEAK)) {
    it(`rejects ${what}, which is allowed in development`, () => {
      assert.deepEqual(problemsOf(environment), []);
      for (const where of [{ NODE_ENV: 'production' }, OFF_LOOPBACK]) {
        const problems = problemsOf({ ...where, ...environment });
        assert.equal(problems.length, 1, problems.join('\n'));
        assert.match(problems[0] ?? '', problem);
        for (const secret of Object.values(environment)) assert.ok(!problems[0]?.includes(secret));
      }
    });
  }

  it('accepts real secrets', () => {
    assert.deepEqual(problemsOf({ NODE_ENV: 'production', ADMIN_TOKEN: '7d0c9b8a6f5e4d3c2b1a09f8e7d6c5b4' }), []);
    assert.deepEqual(problemsOf(OFF_LOOPBACK), []);
    assert.deepEqual(problemsOf({ NODE_ENV: 'production', DATABASE_URL: 'postgres://darkroom@db/darkroom' }), []);
  });
});

describe('what production usually sets', () => {
  const namesOf = (environment: NodeJS.ProcessEnv, role: 'api' | 'worker' = 'api'): readonly string[] =>
    unsetForProduction({ ...LEAST, ...environment }, role).map(({ name }) => name);
  const ALL = ['DRAIN_SECONDS', 'METRICS_PORT', 'TASK_RETENTION_DAYS', 'TEXT_CALL_RETENTION_DAYS'];

  it('is named with what its absence means, and not in development', () => {
    assert.deepEqual(namesOf({ NODE_ENV: 'production' }), ALL);
    assert.deepEqual(namesOf(OFF_LOOPBACK), ALL);
    assert.deepEqual(namesOf({ NODE_ENV: 'production' }, 'worker'), ALL.slice(1));
    assert.deepEqual(namesOf({}), []);
    const [first] = unsetForProduction({ ...LEAST, NODE_ENV: 'production' }, 'api');
    assert.match(first?.effect ?? '', /requests .* fail/);
  });

  it('is not named when the operator has decided, for 0 too', () => {
    const decided = Object.fromEntries(ALL.map((name) => [name, '0']));
    assert.deepEqual(namesOf({ NODE_ENV: 'production', ...decided }), []);
    assert.deepEqual(namesOf({ NODE_ENV: 'production', ...decided, METRICS_PORT: '' }), ['METRICS_PORT']);
  });
});
