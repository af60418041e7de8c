/**
 * Requests as code that can be pasted and run: with curl, Python and JavaScript, also with our SDKs. The key is never part of it; it is
 * read from `DARKROOM_API_KEY`. The code for a media model creates a task and waits for its end.
 */
import type { TaskRequest } from '../../api/task-request.ts';

export type Language = 'curl' | 'python' | 'javascript' | 'pythonSdk' | 'javascriptSdk' | 'openai';

/** The request to a text model, in the format of OpenAI's chat completions. */
export type ChatBody = Readonly<Record<string, unknown>> & { readonly model: string };

/** @param baseUrl with `/v1`. */
export function taskCode(baseUrl: string, request: TaskRequest): Readonly<Partial<Record<Language, string>>> {
  const base = baseUrl.replace(/\/+$/, '');
  return {
    curl: [
      `TASK_ID=$(curl -sS ${base}/tasks \\`,
      '  -H "Authorization: Bearer $DARKROOM_API_KEY" \\',
      '  -H "Content-Type: application/json" \\',
      `  -d ${shellText(JSON.stringify(request, null, 2))} \\`,
      `  | sed -n 's/.*"taskId":"\\([^"]*\\)".*/\\1/p')`,
      '',
      '# Again until "status" is "success" or "fail"; each waits for a change for at most 20 s.',
      `curl -sS "${base}/tasks/$TASK_ID" \\`,
      '  -H "Authorization: Bearer $DARKROOM_API_KEY" \\',
      '  -H "Prefer: wait=20"',
    ].join('\n'),
    python: [
      'import os',
      'import uuid',
      '',
      'import requests',
      '',
      `BASE_URL = ${JSON.stringify(base)}`,
      'session = requests.Session()',
      'session.headers["Authorization"] = f"Bearer {os.environ[\'DARKROOM_API_KEY\']}"',
      '',
      'created = session.post(',
      '    f"{BASE_URL}/tasks",',
      `    json=${indented(pythonLiteral(request), 4)},`,
      '    headers={"Idempotency-Key": str(uuid.uuid4())},',
      ')',
      'created.raise_for_status()',
      'task_id = created.json()["data"]["taskId"]',
      '',
      'while True:',
      '    answer = session.get(f"{BASE_URL}/tasks/{task_id}", headers={"Prefer": "wait=20"})',
      '    answer.raise_for_status()',
      '    task = answer.json()["data"]',
      '    if task["status"] in ("success", "fail"):',
      '        break',
      '',
      'if task["status"] == "fail":',
      '    raise SystemExit(task["error"]["message"])',
      'for output in task["output"]:',
      '    print(output["url"])',
    ].join('\n'),
    javascript: [
      `const baseUrl = ${JSON.stringify(base)};`,
      'const headers = {',
      '  Authorization: `Bearer ${process.env.DARKROOM_API_KEY}`,',
      "  'Content-Type': 'application/json',",
      '};',
      '',
      'async function call(path, init = {}) {',
      '  const response = await fetch(baseUrl + path, { ...init, headers: { ...headers, ...init.headers } });',
      '  const { data, message } = await response.json();',
      '  if (!response.ok) throw new Error(message);',
      '  return data;',
      '}',
      '',
      "const { taskId } = await call('/tasks', {",
      "  method: 'POST',",
      "  headers: { 'Idempotency-Key': crypto.randomUUID() },",
      `  body: JSON.stringify(${indented(JSON.stringify(request, null, 2), 2)}),`,
      '});',
      '',
      'let task;',
      'do {',
      "  task = await call(`/tasks/${taskId}`, { headers: { Prefer: 'wait=20' } });",
      "} while (task.status !== 'success' && task.status !== 'fail');",
      '',
      "if (task.status === 'fail') throw new Error(task.error.message);",
      'for (const { url } of task.output) console.log(url);',
    ].join('\n'),
    pythonSdk: pythonSdkCode(base, request),
    javascriptSdk: javascriptSdkCode(base, request),
  };
}

function javascriptSdkCode(base: string, { model, input, ...options }: TaskRequest): string {
  const given = [model, input, ...(Object.keys(options).length === 0 ? [] : [options])];
  return [
    "import { Darkroom } from '@darkroom/sdk';",
    '',
    'const darkroom = new Darkroom({',
    `  baseUrl: ${JSON.stringify(base)},`,
    '  apiKey: process.env.DARKROOM_API_KEY,',
    '});',
    'const outputs = await darkroom.run(',
    ...given.map((value) => `  ${indented(JSON.stringify(value, null, 2), 2)},`),
    ');',
    'for (const { url } of outputs) console.log(url);',
  ].join('\n');
}

function pythonSdkCode(base: string, { model, input, ...options }: TaskRequest): string {
  const named = Object.entries(options).map(([name, value]) => `${name}=${indented(pythonLiteral(value), 4)}`);
  return [
    'import os',
    '',
    'from darkroom import Darkroom',
    '',
    'darkroom = Darkroom(',
    `    base_url=${JSON.stringify(base)},`,
    '    api_key=os.environ["DARKROOM_API_KEY"],',
    ')',
    'outputs = darkroom.run(',
    `    ${JSON.stringify(model)},`,
    `    ${indented(pythonLiteral(input), 4)},`,
    ...named.map((argument) => `    ${argument},`),
    ')',
    'for output in outputs:',
    '    print(output.url)',
  ].join('\n');
}

/** @param baseUrl with `/v1`. @param body is sent; the answer is streamed if `stream` is true. */
export function chatCode(baseUrl: string, body: ChatBody): Readonly<Partial<Record<Language, string>>> {
  const base = baseUrl.replace(/\/+$/, '');
  const { model, messages, ...others } = body;
  const named = Object.entries({ model, messages, ...others });
  return {
    curl: [
      `curl -sS ${base}/chat/completions \\`,
      '  -H "Authorization: Bearer $DARKROOM_API_KEY" \\',
      '  -H "Content-Type: application/json" \\',
      `  -d ${shellText(JSON.stringify(body, null, 2))}`,
    ].join('\n'),
    python: [
      'import os',
      '',
      'import requests',
      '',
      'answer = requests.post(',
      `    ${JSON.stringify(`${base}/chat/completions`)},`,
      `    json=${indented(pythonLiteral(body), 4)},`,
      '    headers={"Authorization": f"Bearer {os.environ[\'DARKROOM_API_KEY\']}"},',
      ')',
      'answer.raise_for_status()',
      'print(answer.json()["choices"][0]["message"])',
    ].join('\n'),
    javascript: [
      `const response = await fetch(${JSON.stringify(`${base}/chat/completions`)}, {`,
      "  method: 'POST',",
      '  headers: {',
      '    Authorization: `Bearer ${process.env.DARKROOM_API_KEY}`,',
      "    'Content-Type': 'application/json',",
      '  },',
      `  body: JSON.stringify(${indented(JSON.stringify(body, null, 2), 2)}),`,
      '});',
      'if (!response.ok) throw new Error(await response.text());',
      'const { choices } = await response.json();',
      'console.log(choices[0].message);',
    ].join('\n'),
    openai: [
      'import os',
      '',
      'from openai import OpenAI',
      '',
      'client = OpenAI(',
      `    base_url=${JSON.stringify(base)},`,
      '    api_key=os.environ["DARKROOM_API_KEY"],',
      ')',
      'answer = client.chat.completions.create(',
      ...named.map(([name, value]) => `    ${name}=${indented(pythonLiteral(value), 4)},`),
      ')',
      'print(answer.choices[0].message)',
    ].join('\n'),
  };
}

/** In single quotes, as accepted by every shell. */
function shellText(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Indents all lines but the first. */
function indented(text: string, spaces: number): string {
  return text.replaceAll('\n', `\n${' '.repeat(spaces)}`);
}

/** JSON as a Python literal: its strings are valid Python, its keywords are not. */
export function pythonLiteral(value: unknown, depth = 0): string {
  const inner = ' '.repeat(4 * (depth + 1));
  const outer = ' '.repeat(4 * depth);
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    return `[\n${value.map((each) => `${inner}${pythonLiteral(each, depth + 1)},\n`).join('')}${outer}]`;
  }
  if (typeof value === 'object') {
    const entries = Object.entries(value).filter(([, member]) => member !== undefined);
    if (entries.length === 0) return '{}';
    return `{\n${entries.map(([name, member]) => `${inner}${JSON.stringify(name)}: ${pythonLiteral(member, depth + 1)},\n`).join('')}${outer}}`;
  }
  return JSON.stringify(value);
}
