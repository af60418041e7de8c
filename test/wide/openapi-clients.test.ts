/**
 * Clients that generators make of the service's own OpenAPI document: nothing is left out, and the result compiles.
 * Skipped, with the reason, where there is no Python, no Go or no Java. The recommended rules of Redocly are checked by
 * test/http/openapi.test.ts.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { obtainGoPrograms, whyNoGoPrograms } from '../deploy/go-programs.ts';
import { raw } from '../http/raw-request.ts';
import { serveApp } from '../http/serve.ts';
import type { ServedApp } from '../http/serve.ts';
import { createNodeProject } from './empty-project.ts';
import type { EmptyProject } from './empty-project.ts';
import { obtainJar, whyNoMaven } from './maven-programs.ts';
import { obtainPackage, whyNoPackage } from './python-environment.ts';

const PYTHON_CLIENT = { name: 'openapi-python-client', version: '0.29.1' };
const NODE_TOOLS = ['openapi-typescript@7.13.0', 'typescript@5.9.3', '@stoplight/spectral-cli@6.16.3'];
const GO_CLIENT = {
  directory: 'oapi-codegen-2.8.2',
  version: 'v2.8.2',
  packages: { 'oapi-codegen': 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen' },
};
const GO_RUNTIME = 'github.com/oapi-codegen/runtime@v1.9.0';
const JAVA_CLIENT = { group: 'org.openapitools', name: 'openapi-generator-cli', version: '7.25.0' };
/** What the generator for Java says of itself, whatever the document is. */
const JAVA_LIMITS = [
  'OpenAPI 3.1 support is still in beta.',
  // It looks for the name of whatever is not a reference: an example of a response, a schema of `anyOf`.
  'Failed to get the schema name: null',
  // It has a place only for examples of bodies that are not objects.
  'Ignoring complex example on request body',
  // It takes every list in a form for a list of words from an enumeration.
  'Could not compute datatypeWithEnum from File, null',
];
/** The generator knows no media types; it takes these as bytes. Nothing formats what it writes. */
const CONFIGURATION = `post_hooks: []
content_type_overrides:
${['image/jpeg', 'video/*', 'image/*', 'audio/*'].map((type) => `  "${type}": application/octet-stream`).join('\n')}
`;

const run = promisify(execFile);

describe('a client made of the OpenAPI document', { timeout: 1_800_000 }, () => {
  let served: ServedApp;
  let directory: string;
  let document: string;
  before(async () => {
    served = await serveApp();
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-generated-'));
    document = path.join(directory, 'openapi.json');
    await writeFile(document, (await raw(served.url, 'GET', '/openapi.json')).text);
  });
  after(async () => {
    await served?.close();
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
  });

  it('for Python has every operation and every response', { skip: whyNoPackage(PYTHON_CLIENT) }, async () => {
    const python = await obtainPackage(PYTHON_CLIENT);
    const config = path.join(directory, 'config.yml');
    const output = path.join(directory, 'python');
    await writeFile(config, CONFIGURATION);
    const paths = ['--path', document, '--output-path', output, '--config', config];
    const { stdout, stderr } = await run(python, ['-m', 'openapi_python_client', 'generate', ...paths]);

    assert.doesNotMatch(`${stdout}${stderr}`, /WARNING|omitted|not be generated/);
    await run(python, ['-m', 'compileall', '-q', output]);
  });

  it('for Go has types and calls that compile', { skip: whyNoGoPrograms(GO_CLIENT) }, async () => {
    const programs = await obtainGoPrograms(GO_CLIENT);
    const cwd = path.join(directory, 'go');
    await mkdir(cwd);
    const made = ['-generate', 'types,client', '-package', 'darkroom', '-o', path.join(cwd, 'darkroom.go')];
    const { stdout, stderr } = await run(path.join(programs, 'oapi-codegen'), [...made, document]);

    assert.equal(`${stdout}${stderr}`, '');
    await run('go', ['mod', 'init', 'example.test/darkroom'], { cwd });
    await run('go', ['get', GO_RUNTIME], { cwd });
    await run('go', ['mod', 'tidy'], { cwd });
    await run('go', ['vet', './...'], { cwd });
  });

  it('for Java has types and calls that compile', { skip: whyNoMaven() }, async () => {
    const jar = await obtainJar(JAVA_CLIENT);
    const cwd = path.join(directory, 'java');
    // Not its tests, which are empty, nor its pages.
    const omitted = ['apiTests', 'modelTests', 'apiDocs', 'modelDocs'].map((part) => `${part}=false`).join();
    const made = ['generate', '-g', 'java', '-i', document, '-o', cwd, '--global-property', omitted];
    // It reports every name that it makes.
    const { stdout, stderr } = await run('java', ['-jar', jar, ...made], { maxBuffer: 64 * 1024 * 1024 });

    const lines = `${stdout}${stderr}`.split('\n');
    assert.ok(lines.some((line) => line.includes("Generator 'java' is considered stable")));
    const problems = lines.filter((line) => / (WARN|ERROR) /.test(line));
    assert.deepEqual(
      problems.filter((line) => !JAVA_LIMITS.some((limit) => line.includes(limit))),
      [],
    );
    await run('mvn', ['-B', '-q', 'compile'], { cwd, maxBuffer: 64 * 1024 * 1024 });
  });

  describe('with tools of npm', () => {
    let project: EmptyProject;
    before(async () => {
      project = await createNodeProject(NODE_TOOLS, {});
    });
    after(() => project?.close());
    const bin = (name: string): string => path.join(project.directory, 'node_modules', '.bin', name);

    it('for TypeScript has types that compile', async () => {
      const types = path.join(directory, 'api.d.ts');
      await run(bin('openapi-typescript'), [document, '-o', types]);
      // Not where the test runs: the compiler takes the types of the packages there.
      await run(bin('tsc'), ['--noEmit', '--strict', types], { cwd: project.directory });
    });

    it('has a document without an error by the rules of Spectral', async () => {
      const ruleset = path.join(directory, '.spectral.yaml');
      await writeFile(ruleset, 'extends: ["spectral:oas"]\n');
      await run(bin('spectral'), ['lint', document, '--ruleset', ruleset, '--fail-severity', 'error', '--quiet']);
    });
  });
});
