/**
 * Renders `.env.example` from the one list of variables (src/config/variables.ts) and the few that only
 * docker-compose.yml reads. Run by itself it writes the file: `npm run ts -- test/config/render-env-example.ts`
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { packageFile } from '../../src/config/package-root.ts';
import { VARIABLES } from '../../src/config/variables.ts';
import type { Variable } from '../../src/config/variables.ts';

/** Where the rendered text is stored. */
export const ENV_EXAMPLE = packageFile('.env.example');

const LINE_LENGTH = 118;

const HEADER = `Every variable that Darkroom reads, with its default. Nothing here has to be set for \`npm start\`, which reads its
own environment and no file. docker-compose.yml reads the file .env, which can begin as a copy of this one.
A secret can also come from a file: set <NAME>_FILE to its path instead of <NAME>. This file is generated (a test
compares it): change src/config/variables.ts, then run npm run ts -- test/config/render-env-example.ts`;

/** Read by docker-compose.yml alone; the test verifies that it uses no others. */
export const COMPOSE_VARIABLES: Readonly<Record<string, Variable>> = {
  POSTGRES_PASSWORD: {
    kind: 'secret',
    help: "Password of PostgreSQL's superuser, used once, when the volume is made.",
  },
  DARKROOM_DB_PASSWORD: {
    kind: 'secret',
    help: 'Password of the database user darkroom. It becomes part of a URL: letters and digits only.',
  },
  TEMPORAL_DB_PASSWORD: { kind: 'secret', help: 'Password of the database user temporal.' },
  SITE_ADDRESS: {
    kind: 'text',
    fallback: 'localhost',
    help: 'Name that the TLS proxy serves; the one in PUBLIC_URL.',
  },
  PUBLISH_HTTPS: {
    kind: 'text',
    fallback: '127.0.0.1:8443',
    help: 'Where the proxy listens on this machine for HTTPS; 0.0.0.0:443 for a public name.',
  },
  PUBLISH_HTTP: {
    kind: 'text',
    fallback: '127.0.0.1:8880',
    help: 'Where it listens for HTTP, to redirect and to prove a public name; 0.0.0.0:80 for a public name.',
  },
  TEMPORAL_UI: {
    kind: 'choice',
    choices: ['off', 'login'],
    fallback: 'off',
    help: "Whether the proxy serves Temporal's Web UI, which can end tasks, to whoever has the login below.",
  },
  TEMPORAL_UI_USER: { kind: 'text', fallback: '', help: "User name for Temporal's Web UI." },
  TEMPORAL_UI_PASSWORD_HASH: {
    kind: 'secret',
    fallback: '',
    help: 'Its password as `docker compose run --rm --no-deps proxy caddy hash-password` prints it, in single quotes.',
  },
  PUBLISH_TEMPORAL_UI: {
    kind: 'text',
    fallback: '127.0.0.1:8233',
    help: "Where the proxy listens for Temporal's Web UI, by HTTPS; off by default.",
  },
  DARKROOM_IMAGE: { kind: 'text', fallback: 'darkroom', help: 'Name of the Darkroom image.' },
  NODE_IMAGE: baseImage('the build of our own image'),
  RUNTIME_IMAGE: baseImage('our own image'),
  POSTGRES_IMAGE: baseImage('PostgreSQL'),
  TEMPORAL_SERVER_IMAGE: baseImage('the Temporal server'),
  TEMPORAL_ADMIN_TOOLS_IMAGE: baseImage("the tools that make Temporal's schema"),
  TEMPORAL_UI_IMAGE: baseImage("Temporal's Web UI"),
  CADDY_IMAGE: baseImage('the TLS proxy'),
};

/** @param of the image it is the base of, or the program. */
function baseImage(of: string): Variable {
  return { kind: 'text', fallback: '', help: `Base image of ${of}; empty: that of deploy/docker/images.lock.json.` };
}

/** The whole file. */
export function renderEnvExample(): string {
  const blocks = [
    comment(HEADER),
    ...Object.entries(VARIABLES).map(([name, variable]) => renderVariable(name, variable)),
    `${comment('Credentials of an upstream, by the name that a model file calls it. Any number of them. A file is read again when it changes, and need not exist yet.')}\n# UPSTREAM_<NAME>_KEY=\n# UPSTREAM_<NAME>_KEY_FILE=`,
    `${comment('URL of an upstream, in place of the one in the file of its provider; of a server of your own, such as ComfyUI, it is required.')}\n# UPSTREAM_<NAME>_URL=`,
    comment('── Only for docker-compose.yml ──'),
    ...Object.entries(COMPOSE_VARIABLES).map(([name, variable]) => renderVariable(name, variable)),
  ];
  return `${blocks.join('\n\n')}\n`;
}

function renderVariable(name: string, variable: Variable): string {
  const facts = [
    ...(variable.choices === undefined ? [] : [`One of ${variable.choices.join(', ')}.`]),
    ...(variable.fallback === undefined ? ['Required, no default.'] : []),
    ...(variable.kind === 'secret' ? ['Secret.'] : []),
  ];
  return `${comment([variable.help, ...facts].join(' '))}\n# ${name}=${variable.fallback ?? ''}`;
}

/** Wraps a text into comment lines. */
function comment(text: string): string {
  const lines: string[] = [];
  let line = '#';
  for (const word of text.split(/\s+/)) {
    if (line.length + 1 + word.length > LINE_LENGTH && line !== '#') {
      lines.push(line);
      line = '#';
    }
    line += ` ${word}`;
  }
  return [...lines, line].join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(ENV_EXAMPLE, renderEnvExample());
