/** Shown instead of something that the session's key does not allow: which scope is missing, and how to get it. */
import { Code } from '@mantine/core';
import { IconLock } from '@tabler/icons-react';
import type { Scope } from '@darkroom/api/facts/scopes';
import { texts } from '../texts/needs-scope.ts';
import { EmptyState } from './states.tsx';

/** @param what requires the scope: “see and make keys”. */
export function NeedsScope({ scope, what }: { readonly scope: Scope; readonly what: string }) {
  return (
    <EmptyState icon={<IconLock size={32} aria-hidden />} title={texts.title(what)}>
      {texts.lacks} <Code>{scope}</Code>. {texts.remedy}
    </EmptyState>
  );
}
