/**
 * The tools with the official Python clients: the oldest on PyPI, which supports only standard input and output; the
 * first that has streamable HTTP; and the newest, which ends a call at an event of 1 MiB. Each generates the default
 * image and receives the answer. Skipped, with the reason, if there is no Python.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { packageModule } from '../../src/config/package-root.ts';
import type { Called } from '../clients/mcp-connection.ts';
import { MAX_EVENT_BYTES, MAX_INLINE_BYTES, addressesIn, inlineBytes, imagesIn } from '../clients/mcp-images.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { obtainPackage, whyNoPackage } from './python-environment.ts';
import type { PythonPackage } from './python-environment.ts';

/** What all of them do: list the tools, generate an image, and read its task in each possible way. */
const SESSION = `
import asyncio, json, os, re, sys

given = json.load(sys.stdin)

def plain(result):
    return json.loads(result.model_dump_json(by_alias=True, exclude_none=True))

async def use(session):
    tools = [tool.name for tool in (await session.list_tools()).tools]
    call = {"model": "darkroom/scene", "input": {"prompt": "a lighthouse at dusk"}, "wait_seconds": 30}
    made = plain(await session.call_tool("generate", call))
    task_id = re.search(r"tk-svc-[0-9A-Z]{26}", made["content"][0]["text"]).group(0)
    while True:
        task = plain(await session.call_tool("get_task", {"task_id": task_id, "wait_seconds": 30}))
        if re.search(r'"status": ?"(success|fail)"', task["content"][0]["text"]):
            break
    answers = {"default": task}
    for media in ("none", "full"):
        answers[media] = plain(await session.call_tool("get_task", {"task_id": task_id, "media": media}))
    print(json.dumps({"tools": tools, "made": made, "answers": answers}))

def innermost(error):
    while getattr(error, "exceptions", None):
        error = error.exceptions[0]
    return error

def run(main):
    try:
        asyncio.run(main)
    except BaseException as error:
        print(json.dumps({"error": str(innermost(error))}))
`;

/** With sessions, as before 2.0. */
const STDIO = `
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

async def main():
    async with stdio_client(StdioServerParameters(**given["process"])) as (read, write):
        async with ClientSession(read, write) as session:
            await session.initialize()
            await use(session)

run(main())
`;

const HTTP = `
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client

async def main():
    async with streamablehttp_client(given["url"], headers=given["headers"]) as (read, write, _):
        async with ClientSession(read, write) as session:
            await session.initialize()
            await use(session)

run(main())
`;

/** From 2.0 on: the client tries the newest protocol first. */
const CLIENT_STDIO = `
from mcp import Client, StdioServerParameters

async def main():
    async with Client(StdioServerParameters(**given["process"])) as client:
        await use(client)

run(main())
`;

const CLIENT_HTTP = `
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

async def main():
    async with create_mcp_http_client(headers=given["headers"]) as http_client:
        async with Client(streamable_http_client(given["url"], http_client=http_client)) as client:
            await use(client)

run(main())
`;

interface PythonClient {
  readonly package: PythonPackage;
  readonly programs: Readonly<Partial<Record<'stdio' | 'http', string>>>;
  /** Whether it knows `resource_link` (protocol 2025-06-18). */
  readonly knowsLinks: boolean;
  /** Its message for 401. 1.8.0 writes that to its log, and the caller waits forever. */
  readonly badKey?: RegExp;
}

const CLIENTS: readonly PythonClient[] = [
  { package: { name: 'mcp', version: '0.9.1' }, programs: { stdio: STDIO }, knowsLinks: false },
  {
    package: { name: 'mcp', version: '1.8.0', constraints: ['pydantic==2.11.10'] },
    programs: { stdio: STDIO, http: HTTP },
    knowsLinks: false,
  },
  {
    package: { name: 'mcp', version: '2.3.0' },
    programs: { stdio: CLIENT_STDIO, http: CLIENT_HTTP },
    knowsLinks: true,
    badKey: /the API key is missing or not valid/,
  },
];

interface Report {
  readonly error?: string;
  readonly tools?: readonly string[];
  readonly made?: Called;
  readonly answers?: Readonly<Record<'default' | 'none' | 'full', Called>>;
}

let darkroom: Darkroom;
let account: TestAccount;
before(async () => {
  if (CLIENTS.every((each) => whyNoPackage(each.package) !== false)) return;
  darkroom = await startDarkroom();
  account = await darkroom.createAccount();
});
after(() => darkroom?.stop());

async function run(python: string, program: string, key: string): Promise<Report> {
  const given = {
    url: `${darkroom.url}/mcp`,
    headers: { Authorization: `Bearer ${key}` },
    process: {
      command: process.execPath,
      args: [packageModule('test/clients/mcp-stdio-process.ts')],
      env: { PATH: process.env['PATH'] ?? '', DARKROOM_BASE_URL: `${darkroom.url}/v1`, DARKROOM_API_KEY: key },
    },
  };
  const child = spawn(python, ['-c', SESSION + program], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(given));
  return JSON.parse(await text(child.stdout)) as Report;
}

for (const each of CLIENTS) {
  const { name, version } = each.package;
  describe(`the Python client ${name} ${version}`, { skip: whyNoPackage(each.package), timeout: 600_000 }, () => {
    let python: string;
    before(async () => {
      python = await obtainPackage(each.package);
    });

    for (const [way, program] of Object.entries(each.programs)) {
      it(`makes the default image and receives the answer, over ${way}`, async () => {
        const { error, tools = [], made, answers } = await run(python, program, account.client.key);
        assert.equal(error, undefined);
        assert.ok(made && answers);
        assert.ok(tools.includes('generate'));
        const [address = ''] = addressesIn(answers.default);
        const original = Buffer.from(await (await fetch(address)).arrayBuffer());
        assert.ok(original.length * (4 / 3) > MAX_EVENT_BYTES, `${original.length}`);
        for (const [media, answer] of Object.entries(answers)) {
          assert.equal(imagesIn(answer).length, media === 'none' ? 0 : 1, media);
          assert.ok(inlineBytes(answer) <= MAX_INLINE_BYTES);
          assert.equal(addressesIn(answer).length, 1);
          const links = answer.content.filter(({ type }) => type === 'resource_link');
          assert.equal(links.length, each.knowsLinks ? 1 : 0);
        }
        assert.notEqual(made.isError, true);
      });
    }

    if (each.badKey === undefined) return;
    it('is notified of an invalid key', async () => {
      const { error = '' } = await run(python, each.programs.http ?? '', 'nonsense');
      assert.match(error, each.badKey ?? /^$/);
    });
  });
}
