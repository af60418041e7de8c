/** Our image: what is in it, how large it is, and as whom it runs. */
import assert from 'node:assert/strict';
import type { Check } from './checks.ts';
import { IMAGE } from './stack.ts';

/** Megabytes of a million bytes on top of the Debian that it runs on, which differs where no registry is reached. */
const MOST_MEGABYTES = 600;
const SERVICES = ['postgres', 'temporal', 'temporal-ui', 'api', 'worker', 'proxy'] as const;
const UNCHECKED = ['temporal-ui'];
const HEALTHY_WITHIN_MS = 2 * 60_000;

/** Prints `name@version` of each package that is installed. */
const LIST_PACKAGES = `
const { readdirSync, readFileSync } = require('node:fs');
for (const entry of readdirSync('node_modules', { recursive: true, withFileTypes: true })) {
  if (entry.name !== 'package.json' || !/node_modules[^\\w](@[^/]+\\/)?[^/]+$/.test(entry.parentPath)) continue;
  const { name, version } = JSON.parse(readFileSync(entry.parentPath + '/package.json', 'utf8'));
  console.log(name + '@' + version);
}`;

interface Bom {
  readonly bomFormat: string;
  readonly components: readonly {
    readonly 'bom-ref': string;
    readonly name: string;
    readonly version: string;
    readonly purl: string;
  }[];
}

export const IMAGE_CHECKS: readonly Check[] = [
  {
    name: `our image adds at most ${MOST_MEGABYTES} MB to its base, and neither npm nor what only compilers and debuggers read`,
    async check({ engine, images }) {
      const sizeOf = async (image: string): Promise<number> =>
        Number(await engine.docker(['image', 'inspect', '--format', '{{.Size}}', image])) / 1e6;
      const base = await sizeOf(images['RUNTIME_IMAGE'] ?? '');
      const added = (await sizeOf(IMAGE)) - base;
      assert.ok(added <= MOST_MEGABYTES, `${added.toFixed(0)} MB`);
      const run = (...args: readonly string[]): Promise<string> =>
        engine.docker(['run', '--rm', '--entrypoint', 'sh', IMAGE, '-c', ...args]);
      const unneeded = `find / -xdev '(' -name npm -o -name npx -o -name corepack ')' -path '*/bin/*' 2>/dev/null
        find /app -type f '(' -name '*.map' -o -name '*.ts' ')' -o -xtype l`;
      assert.equal(await run(unneeded), '');
      const sizes = await run('du -sm /app/node_modules /app/dist /app/packages /usr/local/bin/node');
      return `${added.toFixed(0)} MB on ${base.toFixed(0)}: ${sizes.replaceAll(/\s+/g, ' ')}`;
    },
  },
  {
    name: 'the bill of materials in our image lists what is in it',
    async check({ engine }) {
      const run = (...args: readonly string[]): Promise<string> => engine.docker(['run', '--rm', ...args]);
      const bom = JSON.parse(await run('--entrypoint', 'cat', IMAGE, 'sbom.cdx.json')) as Bom;
      assert.equal(bom.bomFormat, 'CycloneDX');
      const npm = bom.components.filter(({ purl }) => purl.startsWith('pkg:npm/'));
      const listed = new Set(npm.map((component) => component['bom-ref']));
      const installed = new Set((await run('--entrypoint', 'node', IMAGE, '--eval', LIST_PACKAGES)).split('\n'));
      const isOurs = (name: string): boolean => name.startsWith('@darkroom/');
      assert.deepEqual(
        [...installed].filter((name) => !listed.has(name) && !isOurs(name)),
        [],
        'installed and not listed',
      );
      assert.deepEqual(
        [...listed].filter((name) => !installed.has(name) && !isOurs(name)),
        [],
        'listed and not installed',
      );

      const query = ['-W', '--showformat', '${Package} ${Version}\n'];
      const debian = (await run('--entrypoint', 'dpkg-query', IMAGE, ...query)).split('\n');
      const listedDebian = bom.components.filter(({ purl }) => purl.startsWith('pkg:deb/'));
      assert.deepEqual(
        listedDebian.map(({ name, version }) => `${name} ${version}`).toSorted(),
        debian.toSorted(),
        'packages of Debian',
      );
      const version = (await run('--entrypoint', 'node', IMAGE, '--version')).slice(1);
      assert.ok(bom.components.some((component) => component.name === 'node' && component.version === version));
      return `${listed.size} packages of npm, ${debian.length} of Debian`;
    },
  },
  {
    name: 'no service but the proxy runs as root, and each reports that it is healthy',
    async check({ engine, stack }) {
      for (const service of SERVICES) {
        const container = await stack.containerOf(service);
        const inspect = (format: string): Promise<string> =>
          engine.docker(['container', 'inspect', '--format', format, container]);
        assert.equal(await inspect('{{.HostConfig.ReadonlyRootfs}}'), 'true', service);
        const user = await engine.docker(['exec', container, 'id', '--user']);
        assert.equal(user === '0', service === 'proxy', `${service} runs as ${user}`);
        if (UNCHECKED.includes(service)) continue;
        await healthy(() => inspect('{{.State.Health.Status}}'), service);
      }
      return undefined;
    },
  },
];

async function healthy(status: () => Promise<string>, service: string): Promise<void> {
  const deadline = Date.now() + HEALTHY_WITHIN_MS;
  for (let found = await status(); found !== 'healthy'; found = await status()) {
    assert.ok(Date.now() < deadline, `${service} is ${found}`);
  }
}
