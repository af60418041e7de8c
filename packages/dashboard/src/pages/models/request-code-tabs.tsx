/** A request as code, in the selected language. */
import { SegmentedControl, Stack } from '@mantine/core';
import { useState } from 'react';
import { CodeBlock } from '../../components/copy.tsx';
import { texts } from '../../texts/models.ts';
import type { Language } from './request-code.ts';

const LANGUAGES: readonly Language[] = ['curl', 'python', 'pythonSdk', 'javascript', 'javascriptSdk', 'openai'];

export function RequestCodeTabs({ code }: { readonly code: Readonly<Partial<Record<Language, string>>> }) {
  const [chosen, choose] = useState<Language>('curl');
  const offered = LANGUAGES.filter((each) => code[each] !== undefined);
  const language = offered.includes(chosen) ? chosen : 'curl';
  return (
    <Stack gap="sm">
      <SegmentedControl
        aria-label={texts.language}
        value={language}
        onChange={(value) => choose(value)}
        data={offered.map((each) => ({ value: each, label: texts.languages[each] }))}
        w="fit-content"
        maw="100%"
        size="xs"
      />
      <CodeBlock code={code[language] ?? ''} label={texts.codeLabel(texts.languages[language])} />
    </Stack>
  );
}
