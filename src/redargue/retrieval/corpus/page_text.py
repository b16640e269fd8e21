"""The main text of an HTML page: readability picks the article, html-text turns it into text. Imports in 0.2 s."""

from __future__ import annotations

from typing import Any

import html_text
import lxml.html  # type: ignore[import-untyped]
import readability

_NOT_TEXT = """//nav | //aside | //footer | //dialog | //button | //select | //template | //noscript
    | //header[not(ancestor::article or ancestor::main)] | //*[@hidden]
    | //*[contains(translate(@style, ' ', ''), 'display:none')]
    | //*[self::div or self::section or self::ol][contains(@class, 'comment') or contains(@id, 'comment')]
    | //*[@role='navigation' or @role='banner' or @role='contentinfo' or @role='complementary' or @role='dialog']"""

_MIN_TEXT_SHARE = 2 / 3  # of a page's text outside links, navigation and comments
_MAX_LINK_DENSITY = 0.5  # of a block's text


class _Article(readability.Document):  # type: ignore[misc]  # readability has no types
    def sanitize(self, node: lxml.html.HtmlElement, candidates: Any, keep_all_images: bool = False) -> str:
        # readability's own pruning also drops short lists and small tables.
        for block in self.reverse_tags(node, "ul", "div", "section"):
            if self.get_link_density(block) > _MAX_LINK_DENSITY:
                block.drop_tree()
        return str(lxml.html.tostring(node, encoding="unicode"))


def main_text(tree: lxml.html.HtmlElement) -> str:
    """The text without navigation, comments and hidden elements; the whole text if nothing else is left.

    Elements are removed from the tree, which comes from ``html_text.parse_html``.
    """
    whole = str(html_text.extract_text(tree))
    for element in tree.xpath(_NOT_TEXT):
        if element.getparent() is not None:
            element.drop_tree()
    rest = str(html_text.extract_text(tree))
    try:
        article = _Article(lxml.html.tostring(tree, encoding="unicode")).summary(html_partial=True)
    except readability.Unparseable:
        return rest or whole
    text = str(html_text.extract_text(article))
    outside_links = tree.xpath("//body//text()[not(ancestor::a or ancestor::script or ancestor::style)]")
    # Of a manual with a container for each chapter, readability picks one chapter.
    too_short = len(text) < _MIN_TEXT_SHARE * sum(len(part.strip()) for part in outside_links)
    return (rest if too_short else text) or whole
