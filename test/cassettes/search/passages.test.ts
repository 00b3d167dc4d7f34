import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { localEmbedder } from '../../../cassettes/search/local.ts';
import { tokensBy } from '../../../cassettes/search/local-model.ts';
import { minilmTokenizer } from '../../../cassettes/search/make-minilm.ts';
import { chunksOf } from '../../../cassettes/search/span-text.ts';
import { MODELS } from '../../support/search.ts';

const test = suite('search: passages of a text in any script');

const local = () => localEmbedder({ model: '', models: MODELS, dimensions: 0 });

const SENTENCES: Readonly<Record<string, string>> = {
  Chinese: '我们昨天讨论了如何在半夜修复失败的测试，并且把缓存的大小改成了一千。',
  Japanese: 'プロキシが要求を転送し、応答を記録するとき、カタカナの言葉と漢字が混ざります。',
  Korean: '어제 우리는 한밤중에 실패하는 테스트를 어떻게 고칠지 논의했습니다. ',
  'Korean, decomposed': '어제 우리는 한밤중에 실패하는 테스트를 논의했습니다. '.normalize('NFD'),
  Russian: 'Вчера мы обсуждали, как исправить тест, который падает в полночь. ',
  Greek: 'Χθες συζητήσαμε πώς να διορθώσουμε τη δοκιμή που αποτυγχάνει τα μεσάνυχτα. ',
  Arabic: 'ناقشنا أمس كيفية إصلاح الاختبار الذي يفشل عند منتصف الليل. ',
  Hindi: 'कल हमने चर्चा की कि आधी रात को विफल होने वाले परीक्षण को कैसे ठीक किया जाए। ',
  English: 'The quick brown fox jumps over the lazy dog and then parses the retry limit of the queue. ',
  Vietnamese: 'Hôm qua chúng tôi đã thảo luận về cách sửa bài kiểm tra bị lỗi vào lúc nửa đêm. ',
  Czech: 'Včera jsme diskutovali o tom, jak opravit test, který o půlnoci selhává, a zvětšili jsme paměť. ',
};

test('each passage has as few tokens as the model takes, by its own tokenizer, and none is lost', async () => {
  const { tokensOf, most } = await tokensBy(await minilmTokenizer());
  assert.is(most, 512);
  const { chunkLength } = local();
  for (const [language, sentence] of Object.entries(SENTENCES)) {
    const text = sentence.repeat(Math.ceil(5_000 / sentence.length)).trim();
    const passages = chunksOf(text, chunkLength);
    const tokens = passages.map((passage) => tokensOf(passage).ids.length);
    assert.ok(Math.max(...tokens) <= most, `${language}: ${tokens}`);
    assert.ok(Math.max(...tokens) > 200, `${language} is cut too small: ${tokens}`);
    assert.is(passages.join('').replaceAll(' ', ''), text.replaceAll(' ', ''), language);
  }
});

test('the end of a text counts also where it has more tokens than the model takes', async () => {
  const dense = '{"a":[1,2,{"b":3}]}'.repeat(52);
  const [begin, whole] = await local().embed([dense, `${dense} harbour`]);
  assert.not.equal(whole, begin);
  const [first = 0, other = 0] = [begin?.[0], whole?.[0]];
  assert.ok(Math.abs(first - other) < 0.05, 'and for no more than its share');
});

test.run();
