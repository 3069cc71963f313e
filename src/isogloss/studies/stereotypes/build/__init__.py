"""From "there is no stereotype set for my country" to a data set with its card: one module a step."""

from __future__ import annotations

from isogloss.construction import Construction


def construction() -> Construction:
    """The construction of the stereotypes study: its steps in order."""
    from isogloss.studies.stereotypes.build.assemble import ASSEMBLE
    from isogloss.studies.stereotypes.build.check import check
    from isogloss.studies.stereotypes.build.compare import COMPARE
    from isogloss.studies.stereotypes.build.config import read_config, write_example
    from isogloss.studies.stereotypes.build.figures import sections
    from isogloss.studies.stereotypes.build.merge import MERGE
    from isogloss.studies.stereotypes.build.overlap import OVERLAP
    from isogloss.studies.stereotypes.build.retrieve import RETRIEVE
    from isogloss.studies.stereotypes.build.review import REVIEW
    from isogloss.studies.stereotypes.build.unrelate import UNRELATE
    from isogloss.studies.stereotypes.build.validate import VALIDATE
    from isogloss.studies.stereotypes.build.write import WRITE

    return Construction(
        study="stereotypes",
        title="A stereotype set for a country",
        read_config=read_config,
        steps=(RETRIEVE, MERGE, VALIDATE, WRITE, REVIEW, UNRELATE, OVERLAP, COMPARE, ASSEMBLE),
        check=lambda config, skip_people: check(config, skip_people=skip_people),
        example=write_example,
        sections=sections,
    )
