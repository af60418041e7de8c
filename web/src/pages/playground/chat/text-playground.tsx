/** Trying a text model: a conversation, and beside it how the model is asked. */
import { Button, Grid, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { IconMessage2 } from '@tabler/icons-react';
import { useState } from 'react';
import type { ModelDetail } from '../../../api/models.ts';
import { formatUsd } from '../../../components/money.ts';
import { EmptyState } from '../../../components/states.tsx';
import { useSession } from '../../../session/session.tsx';
import { texts } from '../../../texts/chat.ts';
import { texts as playgroundTexts } from '../../../texts/playground.ts';
import { RequestCodeTabs } from '../../models/request-code-tabs.tsx';
import { chatCode } from '../../models/request-code.ts';
import { ChatSettingsForm } from './chat-settings-form.tsx';
import { Composer } from './composer.tsx';
import { openCalls, requestFor } from './conversation.ts';
import type { ChatSettings } from './conversation.ts';
import { textCost } from './text-cost.ts';
import { TurnView } from './turn-view.tsx';
import { useConversation } from './use-conversation.ts';

const NO_SETTINGS: ChatSettings = { system: '', maxTokens: undefined, effort: '', tools: [] };

export default function TextPlayground({ model }: { readonly model: ModelDetail }) {
  const { baseUrl } = useSession();
  const [settings, setSettings] = useState(NO_SETTINGS);
  const [areToolsGood, setToolsGood] = useState(true);
  const [draft, setDraft] = useState('');
  const conversation = useConversation(model.id, settings);
  const { turns, isWriting } = conversation;
  const { pricing } = model;
  const usages = turns.flatMap((turn) =>
    turn.who === 'model' && turn.answer.usage !== undefined ? [turn.answer.usage] : [],
  );
  const shownTurns = draft.trim() === '' ? turns : [...turns, { who: 'user', text: draft } as const];
  const request = requestFor(model.id, shownTurns, settings);
  const hasOpenCalls = openCalls(turns).length > 0;
  return (
    <Grid gap="lg">
      <Grid.Col span={{ base: 12, md: 8 }}>
        <Stack gap="lg">
          <Paper withBorder p="md" component="section" aria-labelledby="chat-conversation">
            <Group justify="space-between" mb="sm">
              <Title order={2} size="h5" id="chat-conversation">
                {texts.conversation}
              </Title>
              {turns.length === 0 ? null : (
                <Button size="compact-sm" variant="default" onClick={conversation.clear}>
                  {texts.clear}
                </Button>
              )}
            </Group>
            {turns.length === 0 ? (
              <EmptyState icon={<IconMessage2 size={32} aria-hidden />} title={texts.empty}>
                {texts.emptyHint}
              </EmptyState>
            ) : (
              <Stack gap="md" role="log" aria-labelledby="chat-conversation" aria-busy={isWriting} mb="md">
                {turns.map((turn, place) => (
                  <TurnView
                    key={place}
                    turn={turn}
                    pricing={pricing}
                    isLast={place === turns.length - 1}
                    onAgain={conversation.again}
                    onAnswer={conversation.answerCalls}
                  />
                ))}
              </Stack>
            )}
            <Composer
              value={draft}
              onChange={setDraft}
              onSend={() => {
                conversation.say(draft);
                setDraft('');
              }}
              onStop={conversation.stop}
              isWriting={isWriting}
              problem={areToolsGood ? undefined : texts.fixTools}
              isBlocked={hasOpenCalls}
            />
            {usages.length === 0 || pricing.unit !== 'token' ? null : (
              <Text size="sm" mt="xs">
                {texts.totalCost(formatUsd(textCost(pricing, usages)))}
              </Text>
            )}
          </Paper>
          <Paper withBorder p="md" component="section" aria-labelledby="chat-code">
            <Title order={2} size="h5" id="chat-code" mb="sm">
              {playgroundTexts.codeTitle}
            </Title>
            <RequestCodeTabs
              code={chatCode(
                baseUrl,
                request.messages.length === 0
                  ? { ...request, messages: [{ role: 'user', content: '…' }] }
                  : { ...request },
              )}
            />
          </Paper>
        </Stack>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 4 }}>
        <ChatSettingsForm model={model} value={settings} onChange={setSettings} onToolsGood={setToolsGood} />
      </Grid.Col>
    </Grid>
  );
}
