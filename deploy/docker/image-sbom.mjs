/**
 * Writes the bill of materials of our image (CycloneDX) to standard output, in the last step of its build: of what the
 * lock file lists the packages that are installed, Node, and the Debian packages of the image that it runs on, whose
 * list of packages (`/var/lib/dpkg/status`) is the argument.
 */
import { execFile } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const OUTPUT_BYTES = 64 * 1024 * 1024;

/** `name@version` of every package below a directory. */
async function installedBelow(directory) {
  const found = new Set();
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (entry.name !== 'package.json' || !/node_modules[^\w](@[^/]+\/)?[^/]+$/.test(entry.parentPath)) continue;
    const { name, version } = JSON.parse(await readFile(path.join(entry.parentPath, entry.name), 'utf8'));
    found.add(`${name}@${version}`);
  }
  return found;
}

/** The packages of a list of dpkg that are installed, in the form of CycloneDX. */
function debianComponents(status) {
  const components = [];
  for (const block of status.split(/\n\n+/)) {
    const fields = new Map([...block.matchAll(/^(\S+): (.*)$/gm)].map(([, name, value]) => [name, value]));
    if (fields.get('Status') !== 'install ok installed') continue;
    const [name, version] = [fields.get('Package'), fields.get('Version')];
    const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${fields.get('Architecture')}`;
    components.push({ 'bom-ref': purl, type: 'library', name, version, scope: 'required', purl });
  }
  return components;
}

const [statusFile = ''] = process.argv.slice(2);
const npm = ['sbom', '--silent', '--package-lock-only', '--sbom-format=cyclonedx'];
const { stdout } = await promisify(execFile)('npm', npm, { maxBuffer: OUTPUT_BYTES });
const all = JSON.parse(stdout);
const installed = await installedBelow('node_modules');
const listed = new Set(all.components.map((component) => component['bom-ref']));
const components = all.components.filter((component) => installed.has(component['bom-ref']));
const kept = new Set([all.metadata.component['bom-ref'], ...components.map((component) => component['bom-ref'])]);
const unlisted = [...installed].filter((name) => !listed.has(name) && !name.startsWith('@darkroom/'));
if (unlisted.length > 0) throw new Error(`The lock file does not list ${unlisted.join(', ')}.`);

const node = process.version.slice(1);
const nodeUrl = `pkg:generic/node@${node}`;
const bom = {
  ...all,
  metadata: { ...all.metadata, lifecycles: [{ phase: 'build' }] },
  components: [
    ...components,
    { 'bom-ref': nodeUrl, type: 'platform', name: 'node', version: node, scope: 'required', purl: nodeUrl },
    ...debianComponents(await readFile(statusFile, 'utf8')),
  ],
  dependencies: all.dependencies
    .filter(({ ref }) => kept.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((name) => kept.has(name)) })),
};
process.stdout.write(`${JSON.stringify(bom)}\n`);
